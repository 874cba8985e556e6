"""The pull consumer: the user asks for messages when it wants them, and decides where to read."""
