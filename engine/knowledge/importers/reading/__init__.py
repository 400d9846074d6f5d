"""What the readers share: text and tables line by line, batches, how identifiers and kinds are written."""
