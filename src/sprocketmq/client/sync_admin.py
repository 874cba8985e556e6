"""The synchronous AdminClient, under the name it had before `sync` was a package."""

from sprocketmq.client.sync.admin import *  # noqa: F403
