"""Finding tools: search (words and vectors), expand (what those tools and entities are linked to), rerank."""
