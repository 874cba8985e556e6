"""What delayed, timed, retried, transactional and popped messages share: they rest in a topic of the broker's own."""
