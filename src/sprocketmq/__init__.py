"""SprocketMQ: Apache RocketMQ's protocol, store and brokers for Python, with a data pipeline on Spark."""

from sprocketmq import _pure

_pure.install_if_asked()

__version__ = "0.1.0"
