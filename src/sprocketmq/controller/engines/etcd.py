"""The engine of several controllers: etcd keeps the records and says who leads.

    PREFIX/leader          {"id": "n0", "address": "host:port"}, bound to a lease of the controller that leads
    PREFIX/sets/NAME       the record of a broker set

Who leads is who made the leader's key; its lease is kept alive, and the key goes when it is not. A change is one
transaction: the leader's key still is the one that this controller made, and the record is the one that it read. So a
controller that was deposed and does not know it yet writes nothing. Leases decide only who leads, never who lives:
whole seconds, noticed late, are too coarse for that.

A change whose answer was lost may still be on its way. Whoever then reads the old record and refuses something because
of it would be overtaken, so the leader first writes its own key anew, as it is: every change names the revision of that
write, and the late one finds another.
"""

from __future__ import annotations

import asyncio
import contextlib
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from typing import Any

import orjson

from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.engines import EngineFailed, Member, NotLeading
from sprocketmq.controller.engines.gateway import Answer, Gateway
from sprocketmq.errors import BodyError
from sprocketmq.logs import Events

events = Events("sprocketmq.controller.etcd")

#: A lease is renewed so many times in its length.
_RENEWALS = 4
#: Between two looks at who leads, when the watch does not hold.
_PAUSE = 0.5


class EtcdEngine:
    def __init__(self, gateway: Gateway, prefix: str, lease_seconds: int = 3) -> None:
        self._gateway = gateway
        self._leader_key = f"{prefix}/leader"
        self._sets_prefix = f"{prefix}/sets/"
        self._lease_seconds = lease_seconds
        #: The revision at which this controller made the leader's key; 0 when it does not lead.
        self._term = 0
        #: The revision at which it last wrote that key, and whether a change may come after it that nobody waits for.
        self._fence = 0
        self._is_in_doubt = False
        self._records: dict[str, tuple[BrokerSet, int]] = {}

    async def start(self) -> None:
        """An etcd that is not there yet is waited for, not an error."""

    async def stop(self) -> None:
        """What is to be given back was given back when the contest ended."""

    # -- records --------------------------------------------------------------------------------------------------

    async def load(self) -> dict[str, BrokerSet]:
        if self._is_in_doubt and self._term:
            await self._raise_fence()
        end = self._sets_prefix[:-1] + "0"  # the character after the slash
        answer = await self._gateway.call("/v3/kv/range", {"key": _b64(self._sets_prefix), "range_end": _b64(end)})
        self._records = {}
        for pair in answer.get("kvs", ()):
            key = b64decode(pair["key"]).decode()
            try:
                record = BrokerSet.decode(b64decode(pair["value"]))
            except BodyError as error:
                raise EngineFailed(f"etcd: {key}: {error}") from None
            self._records[record.name] = record, int(pair["mod_revision"])
        return {name: record for name, (record, _) in self._records.items()}

    async def swap(self, expected: BrokerSet | None, new: BrokerSet | None) -> None:
        name = (new or expected or BrokerSet()).name
        known, revision = self._records.get(name, (None, 0))
        if known != expected:
            raise EngineFailed(f"the record of {name} is another one by now")
        key = _b64(self._sets_prefix + name)
        guards = [
            _created(self._leader_key, self._term), _written(self._leader_key, self._fence),
            _written(self._sets_prefix + name, revision),
        ]  # fmt: skip
        change: Answer = {"request_delete_range": {"key": key}}
        if new is not None:
            change = {"request_put": {"key": key, "value": _b64(new.encode())}}
        self._is_in_doubt = True
        answer = await self._gateway.call(
            "/v3/kv/txn",
            {"compare": guards, "success": [change], "failure": [{"request_range": {"key": _b64(self._leader_key)}}]},
        )
        self._is_in_doubt = False
        if not answer.get("succeeded"):
            raise self._refusal(name, answer)
        self._records.pop(name, None)
        if new is not None:
            self._records[name] = new, int(answer["header"]["revision"])

    def _refusal(self, name: str, answer: Answer) -> Exception:
        found = _first_pair(answer)
        if found is None or int(found["create_revision"]) != self._term:
            return NotLeading("another controller leads")
        self._is_in_doubt = int(found["mod_revision"]) != self._fence  # a fence whose answer was lost
        return EngineFailed(f"the record of {name} is another one by now")

    async def _raise_fence(self) -> None:
        put = {"key": _b64(self._leader_key), "ignore_value": True, "ignore_lease": True}
        answer = await self._gateway.call(
            "/v3/kv/txn", {"compare": [_created(self._leader_key, self._term)], "success": [{"request_put": put}]}
        )
        if not answer.get("succeeded"):
            raise NotLeading("another controller leads")
        self._fence, self._is_in_doubt = int(answer["header"]["revision"]), False

    # -- leadership -----------------------------------------------------------------------------------------------

    async def lead(self, own: Member) -> AsyncIterator[Member | None]:
        lease, known = "", None
        try:
            while True:
                lease = await self._grant()
                leader, revision = await self._contend(own, lease)
                if leader != known:
                    yield leader
                known = leader
                if self._term:
                    await self._reign(lease)
                    known = None
                    yield None
                else:
                    await self._revoke(lease)
                    await self._until_changed(revision)
        finally:
            self._term = 0
            await self._revoke(lease)

    async def _contend(self, own: Member, lease: str) -> tuple[Member, int]:
        """Who leads, and since which revision: whoever makes the key first."""
        key, value = _b64(self._leader_key), _b64(orjson.dumps({"id": own.member_id, "address": own.address}))
        answer = await self._gateway.call(
            "/v3/kv/txn",
            {
                "compare": [_created(self._leader_key, 0)],
                "success": [{"request_put": {"key": key, "value": value, "lease": lease}}],
                "failure": [{"request_range": {"key": key}}],
            },
        )
        revision = int(answer["header"]["revision"])
        if answer.get("succeeded"):
            self._term = self._fence = revision
            return own, revision
        self._term = 0
        found = _first_pair(answer) or {}
        told = orjson.loads(b64decode(found.get("value", "")) or b"{}")
        if found.get("lease") == lease:  # the answer to an earlier try was lost
            self._term, self._fence = int(found["create_revision"]), int(found["mod_revision"])
        return Member(str(told.get("id", "")), str(told.get("address", ""))), revision

    async def _reign(self, lease: str) -> None:
        """Until the lease may be over: counted from before the last renewal that succeeded was sent."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._lease_seconds
        while True:
            await asyncio.sleep(self._lease_seconds / _RENEWALS)
            sent = loop.time()
            try:
                async with asyncio.timeout_at(deadline):
                    answer = await self._gateway.call("/v3/lease/keepalive", {"ID": lease})
            except (EngineFailed, TimeoutError) as error:
                events.warning("lease not renewed", reason=error)
            else:
                if int(answer.get("TTL", 0)) <= 0:
                    break
                deadline = sent + self._lease_seconds
            if loop.time() >= deadline:
                break
        self._term = 0
        events.warning("leadership lost")

    async def _until_changed(self, revision: int) -> None:
        """Until the leader's key is gone, or the lease's length is over: a watch may be deaf."""
        watch = {"create_request": {"key": _b64(self._leader_key), "start_revision": str(revision + 1)}}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._lease_seconds):
                try:
                    async for answer in self._gateway.stream("/v3/watch", watch):
                        if answer.get("events"):
                            return
                except EngineFailed as error:
                    events.warning("watch ended", reason=error)
                await asyncio.sleep(_PAUSE)

    async def _grant(self) -> str:
        return str((await self._gateway.call("/v3/lease/grant", {"TTL": str(self._lease_seconds)}))["ID"])

    async def _revoke(self, lease: str) -> None:
        if lease:
            with contextlib.suppress(EngineFailed):  # it ends by itself
                await self._gateway.call("/v3/lease/revoke", {"ID": lease})


def _b64(text: str | bytes) -> str:
    return b64encode(text.encode() if isinstance(text, str) else text).decode()


def _created(key: str, revision: int) -> dict[str, str]:
    return {"key": _b64(key), "target": "CREATE", "create_revision": str(revision)}


def _written(key: str, revision: int) -> dict[str, str]:
    return {"key": _b64(key), "target": "MOD", "mod_revision": str(revision)}


def _first_pair(answer: Answer) -> dict[str, Any] | None:
    """The key that a refused transaction was told to read."""
    responses = answer.get("responses") or [{}]
    pairs = responses[0].get("response_range", {}).get("kvs") or [None]
    found: dict[str, Any] | None = pairs[0]
    return found
