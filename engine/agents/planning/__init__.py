"""How the planner without a model understands a question.

`words` reads numbers, genes and phrases; `columns` finds the columns and levels a question names; `goals`
decides which tools would answer it; `design` reads the contrast and looks for the classic traps;
`builder` chains tools over data types; `fields` holds what each field of biology expects around a goal.
"""
