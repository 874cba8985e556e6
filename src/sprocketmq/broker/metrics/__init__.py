"""Counting, and showing what was counted."""
