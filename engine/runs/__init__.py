"""What makes runs watchable, stoppable and durable: records, events, queue, cancelling, locks, what a kill left."""
