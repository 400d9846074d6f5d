"""The parts of Knowledge Graph: an entity and what is linked to it, ways, enrichment, texts that are checked."""
