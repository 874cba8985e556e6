"""The nameserver's configuration while it runs."""

from __future__ import annotations

from sprocketmq.logs import Events
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.remoting.running_settings import RunningSettings

events = Events("sprocketmq.nameserver.settings")


class NameserverSettings(RunningSettings[NameserverConfig]):
    def __init__(self, config: NameserverConfig) -> None:
        super().__init__(config, config.config_store_path, events)
