"""The disk as the store sees it: files, maps, the lock, and the layout of a store directory."""
