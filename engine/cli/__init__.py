"""The command line: everything the pages can do, with `--json` for programs.

`main` parses and turns errors into sentences and exit codes; `commands` does the work through `engine.api`;
`show` prints for people.
"""
