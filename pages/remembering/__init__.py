"""The parts of Memory: conversations, past analyses, facts."""
