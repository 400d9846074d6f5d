"""Words of questions and tools: splitting, abbreviations, other languages, the table of methods."""
