"""Where everything that must not be lost is kept: one workspace folder on the user's own disk.

`workspace` holds the folder against a second process, `database` the DuckDB file. The rest lies by what is stored:
`runs/` (what happened, and the files by their hash), `graph/`, `memory/` (episodes, facts, conversations), `tools/`
(imported catalogues) and `vectors/`, which can be rebuilt. Beside each store is its twin without a disk, which keeps
the same promises (`tests/contract/`). Only `engine.bootstrap` names this package; the rest sees `engine.ports`.
"""
