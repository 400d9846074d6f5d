"""How a number can be traced, checked and computed again.

`recorder` writes down what ran on what and what came out; `verify` re-hashes it all and says what differs;
`notebook` (with `scripts`, `notebook_cells`) gives the analysis as code that needs no Biodesk; `files` names
what an exported folder holds; `table_rows` finds the row a finding points to.
"""
