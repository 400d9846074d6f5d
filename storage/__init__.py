"""Where everything that must not be lost is kept: one workspace folder on the user's own disk.

`workspace` holds the folder against a second process, `database` the DuckDB file, `runs` what happened in
it, `artifacts` the files by their hash, `vectors` what can be rebuilt. `memory` has the same stores without
a disk. Only `engine.bootstrap` names this package; the rest of the program sees `engine.ports`.
"""
