"""Administration: topics, groups, offsets, messages and brokers, as `mqadmin` and the dashboard see them."""

from sprocketmq.client.admin.client import AdminClient

__all__ = ["AdminClient"]
