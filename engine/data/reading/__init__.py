"""Reads files of any making into tables, without loading more than is looked at."""
