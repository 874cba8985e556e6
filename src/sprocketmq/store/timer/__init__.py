"""The timer wheel and its log."""
