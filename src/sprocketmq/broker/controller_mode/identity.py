"""Who this broker is: an id that a controller gave it once, kept beside the store.

    no file                 ask for the next id, note it with a check code of our own in `brokerIdentity-temp`
    brokerIdentity-temp     apply for it; granted, it becomes `brokerIdentity`; refused, begin again
    brokerIdentity          that is who we are, for ever

An application that was granted and whose answer was lost is granted again: the controller knows the check code. Each
file is on disk before the next step; it is written on a thread, for the loop waits for no disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from sprocketmq.atomic_file import replace_file
from sprocketmq.broker.controller_mode.controller_client import ControllerClient
from sprocketmq.codes import RequestCode
from sprocketmq.errors import BodyError, ConfigError, RequestRefused
from sprocketmq.logs import Events
from sprocketmq.protocol.ha.identity_file import (
    AppliedIdentity,
    BrokerIdentity,
    decode_applied_identity,
    decode_identity,
)
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.controller import (
    ApplyBrokerIdRequestHeader,
    GetNextBrokerIdRequestHeader,
    GetNextBrokerIdResponseHeader,
)
from sprocketmq.store.files.files import Files

events = Events("sprocketmq.broker.controller_mode")

FILE_NAME = "brokerIdentity"


class Identity:
    def __init__(
        self, files: Files, path: Path, cluster: str, broker_name: str, controllers: ControllerClient,
        check_code: Callable[[], str],
    ) -> None:  # fmt: skip
        self._files = files
        self._path = path
        self._applied_path = path.with_name(f"{path.name}-temp")
        self._cluster = cluster
        self._broker_name = broker_name
        self._controllers = controllers
        self._check_code = check_code

    async def broker_id(self) -> int:
        """The id, applied for where there is none yet. Raises RequestRefused, RemotingError; ConfigError for good."""
        if self._files.exists(self._path):
            return self._known(decode_identity(self._text(self._path)), self._path).broker_id
        applied = self._applied() or await self._next()
        header = ApplyBrokerIdRequestHeader(
            cluster_name=self._cluster,
            broker_name=self._broker_name,
            applied_broker_id=applied.identity.broker_id,
            register_check_code=applied.check_code,
        )
        try:
            await self._controllers.demand(RequestCode.CONTROLLER_APPLY_BROKER_ID, header)
        except RequestRefused:
            self._files.remove(self._applied_path)  # somebody was quicker
            raise
        await asyncio.to_thread(replace_file, self._path, applied.identity.encode().encode(), self._files)
        self._files.remove(self._applied_path)
        events.info("has an id", identity=applied.identity.encode())
        return applied.identity.broker_id

    def _applied(self) -> AppliedIdentity | None:
        if not self._files.exists(self._applied_path):
            return None
        try:
            applied = decode_applied_identity(self._text(self._applied_path))
        except BodyError as error:  # it was never applied for: the file comes first
            events.warning("application dropped", path=self._applied_path, reason=error)
            return None
        self._known(applied.identity, self._applied_path)
        return applied

    async def _next(self) -> AppliedIdentity:
        header = GetNextBrokerIdRequestHeader(cluster_name=self._cluster, broker_name=self._broker_name)
        answer = await self._controllers.demand(RequestCode.CONTROLLER_GET_NEXT_BROKER_ID, header)
        told = from_ext_fields(GetNextBrokerIdResponseHeader, answer.ext_fields or {})
        if told.next_broker_id is None or told.next_broker_id < 1:
            raise RequestRefused(answer.code, f"the controller's next id is {told.next_broker_id}")
        identity = BrokerIdentity(self._cluster, self._broker_name, told.next_broker_id)
        applied = AppliedIdentity(identity, self._check_code())
        await asyncio.to_thread(replace_file, self._applied_path, applied.encode().encode(), self._files)
        return applied

    def _known(self, identity: BrokerIdentity, path: Path) -> BrokerIdentity:
        if (identity.cluster, identity.broker_name) != (self._cluster, self._broker_name):
            raise ConfigError(
                f"brokerName: {path} is of {identity.cluster}#{identity.broker_name}, "
                f"this broker is {self._cluster}#{self._broker_name}"
            )
        return identity

    def _text(self, path: Path) -> str:
        return self._files.read_bytes(path).decode("utf-8", "replace")


class BootNote:
    """Whether the machine started anew since this store was last open, without a clean stop: a power cut, perhaps.

    A sync that failed is like one: the system may have dropped what it could not write. Then the note is spoiled.
    """

    _SPOILED = b"a sync has failed"

    def __init__(self, files: Files, path: Path, boot_id_path: Path = Path("/proc/sys/kernel/random/boot_id")) -> None:
        self._files = files
        self._path = path
        self._boot_id_path = boot_id_path
        self._written = False
        self._writing: asyncio.Future[None] | None = None
        self._spoiling: asyncio.Future[None] | None = None

    def changed(self) -> bool:
        before = self._files.read_bytes(self._path) if self._files.exists(self._path) else None
        return before is not None and before != self._now()

    async def write(self) -> None:
        """Once in a run, whatever the file says: a sync may have failed behind it, and a power cut would take it."""
        if self._spoiling is not None or self._written:
            return
        self._writing = asyncio.ensure_future(self._replace(self._now()))
        await self._writing
        self._written = True

    def spoil(self) -> None:
        """To be called again and again: it may fail, on a disk that has, and what is being written comes first."""
        if self._spoiling is None and (self._writing is None or self._writing.done()):
            self._spoiling = asyncio.ensure_future(self._replace(self._SPOILED))
            self._spoiling.add_done_callback(self._spoiled)

    async def _replace(self, data: bytes) -> None:
        await asyncio.to_thread(replace_file, self._path, data, self._files)

    def _spoiled(self, spoiling: asyncio.Future[None]) -> None:
        error = None if spoiling.cancelled() else spoiling.exception()
        if error is not None:
            events.warning("failed sync not noted", path=self._path, reason=error)
            self._spoiling = None

    def _now(self) -> bytes:
        try:
            return self._boot_id_path.read_bytes().strip()
        except OSError:  # a system without it: every start looks the same
            return b"unknown"
