"""Words, names and sentences: the one place that cuts, folds and compares text.

`letters` brings letters to one form, `stems` words, `numbers` and `times` what is counted; `stopwords` weighs words;
`tokens` cuts a sentence into words, `names` the name of a column or an entity, `sentences` a text; `codes` says what
codes stand for, `slips` finds typing errors, `negation` tells what is denied, `prose` puts names and clauses into a
sentence.
"""
