"""Files, maps, the lock, the layout of a store directory, and the settings."""
