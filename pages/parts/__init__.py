"""What several pages use: words, tables, figures, drawings, the session, the engine."""
