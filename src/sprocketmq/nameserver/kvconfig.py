"""The key-value table: texts by namespace and key, kept in `kvConfig.json` as RocketMQ keeps it.

The order configuration of topics lives here too, in the namespace ORDER_TOPIC_CONFIG: topic -> "broker-a:4;broker-b:4".
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sprocketmq.atomic_file import replace_file
from sprocketmq.errors import BodyError, ConfigError
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.fields import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class KVConfigSerializeWrapper:
    config_table: Mapping[str, Mapping[str, str]] = wire("configTable", default_factory=dict)


class KVConfig:
    """A change is written beside the loop, one after the other. It is seen when it is on disk, and moves `version`."""

    def __init__(self, path: Path) -> None:
        self.version = 0
        self._path = path
        self._changing = asyncio.Lock()
        self._table: dict[str, dict[str, str]] = {}

    def load(self) -> None:
        """Read the file. None is an empty table; a damaged one is an error: the next change would overwrite it."""
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return
        try:
            wrapper = codec.decode(KVConfigSerializeWrapper, text)
        except BodyError as error:
            raise ConfigError(f"{self._path}: {error}") from None
        self._table = {namespace: dict(entries) for namespace, entries in wrapper.config_table.items()}

    def get(self, namespace: str, key: str) -> str | None:
        return self._table.get(namespace, {}).get(key)

    def entries(self, namespace: str) -> Mapping[str, str] | None:
        return self._table.get(namespace)

    async def put(self, namespace: str, key: str, value: str) -> None:
        async with self._changing:
            await self._keep({**self._table, namespace: {**self._table.get(namespace, {}), key: value}})

    async def delete(self, namespace: str, key: str) -> None:
        """Forget a key; one that is not there is no error."""
        async with self._changing:
            left = dict(self._table.get(namespace, {}))
            if left.pop(key, None) is not None:
                await self._keep({**self._table, namespace: left})

    async def _keep(self, table: dict[str, dict[str, str]]) -> None:
        await asyncio.to_thread(self._write, table)
        self._table = table
        self.version += 1

    def _write(self, table: dict[str, dict[str, str]]) -> None:
        replace_file(self._path, codec.encode_pretty(KVConfigSerializeWrapper(config_table=table)))
