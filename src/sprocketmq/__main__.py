"""`python -m sprocketmq` is the `sprocket` command."""

from sprocketmq.cli.main import run

run()
