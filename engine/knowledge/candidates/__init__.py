"""Links that the graph lacks, asked for by name: which are probable, and what speaks for and against each."""
