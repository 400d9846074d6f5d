"""What is remembered: working (the conversation), episodic (past analyses), semantic (facts)."""
