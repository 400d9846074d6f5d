"""The catalogue of tools: what a plan can be made of.

`registry` has the decorator and the catalogue, `io` how data is read and written (the same source runs in
a step and stands in the notebook), `script` how a step becomes code, `checks` the postconditions,
`typecheck` what makes a plan fit. The tools themselves are in `domains/`, one file an area.
"""
