"""The built-in tools, one module per kind of question.

A module here holds tool functions (see `engine.toolbox.registry`) and the checks that belong to them.
What several tools of a field share stands in a `*_common` module, as helpers that travel with the source.
"""
