"""How a question about data becomes a plan: read, choose, bind, guard, practice, coverage.

Start with `planner.py`. Nothing here names a tool or a field: what is particular to one is declared beside the tools
(`engine/toolbox/<field>/`), and found there.
"""
