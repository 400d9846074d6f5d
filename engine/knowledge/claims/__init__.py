"""Reading what a text claims: which two entities, which relation, asserted or denied."""
