"""Columns, levels, files and settings given to the parameters of a tool."""
