"""Values of what is sought and not known yet: hypotheses, links that a graph lacks, trees of a search."""
