"""Pure values: no clock, no file, no network, no library beyond pydantic.

Everything that is stored, sent to a page or written into a plan file is one of these, so they are
pydantic models that refuse unknown fields: a plan edited by hand or a payload of another version
fails with a sentence, not with a surprise later.
"""
