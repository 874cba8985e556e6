"""Delay levels, timers, and recalling a timed message."""
