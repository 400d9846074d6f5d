"""The graph itself: its arrays, walks over them, ways, neighbourhoods, and names that are looked for."""
