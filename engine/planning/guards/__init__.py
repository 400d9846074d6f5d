"""What would spoil an analysis: it is repaired, asked, warned of or refused."""
