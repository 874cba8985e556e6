"""Messages that a consumer gave back: they come again later, or go to the dead letters."""
