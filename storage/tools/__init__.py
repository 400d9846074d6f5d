"""Catalogues of tools that others maintain."""
