"""From a question to a proposed plan or a direct answer, and what people change of a plan before it runs."""
