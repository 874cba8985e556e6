"""`python -m sprocketmq` is the `sprocket` command."""

from sprocketmq.cli import run

run()
