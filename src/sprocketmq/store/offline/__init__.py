"""Work on a store that no broker runs on: verify, rebuild, replay."""
