"""What words name in the data: columns, levels, numbers, genes, and what codes stand for."""
