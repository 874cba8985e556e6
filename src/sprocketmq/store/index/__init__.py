"""IndexFiles: from a key to the places of its messages."""
