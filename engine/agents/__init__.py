"""The parts that act and judge, each in a rule-based form that always works.

`executor` runs a step, `critic` judges it, `repairs` says what may be changed by rule, `synthesizer` turns
what a run found into a report.
"""
