"""Kinds of messages beyond the plain one: delayed, retried, transactional, timed, replies, and those that POP hides."""
