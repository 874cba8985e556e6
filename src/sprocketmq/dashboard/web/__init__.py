"""What every request passes: the host it names, its session, its form, and the headers of its answer."""
