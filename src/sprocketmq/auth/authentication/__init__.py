"""Who asks: users, the session of a connection, and what a signature covers."""
