"""What makes long work watchable, stoppable and durable: threads, queue, cancel tokens and the event log."""
