"""Hooks, OpenTelemetry, message traces."""
