"""Looks at files before anything is planned: what each can serve as, how to read it, and what is wrong with it."""
