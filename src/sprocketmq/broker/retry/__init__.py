"""Messages that come back: from consumers, and as replies."""
