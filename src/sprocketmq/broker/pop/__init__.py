"""POP: take, acknowledge, revive."""
