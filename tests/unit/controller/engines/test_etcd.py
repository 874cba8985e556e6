"""The engine on an etcd in memory that may answer late, or not at all."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import pytest

from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.engines import EngineFailed, Member, NotLeading
from sprocketmq.controller.engines.etcd import EtcdEngine

OWN = Member("n0", "127.0.0.1:9878")
SMALL, LARGE = BrokerSet(name="a", master_epoch=1), BrokerSet(name="a", master_epoch=2)


@dataclass
class _Key:
    value: str
    created: int
    written: int
    lease: str


class MemoryEtcd:
    """Takes the place of a gateway. `late` has the transactions that were `held`: they have not come yet."""

    def __init__(self) -> None:
        self.keys: dict[str, _Key] = {}
        self.revision = 1
        self.is_held = self.is_silent = False
        self.late: list[dict[str, Any]] = []

    async def call(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        if path == "/v3/lease/grant":
            return {"ID": "7"}
        if path != "/v3/kv/txn":
            return self.range(asked) if path == "/v3/kv/range" else {"TTL": "3"}
        if self.is_held:
            self.late.append(asked)
            raise EngineFailed("no answer")
        answer = self.transact(asked)
        if self.is_silent:
            raise EngineFailed("no answer")
        return answer

    def transact(self, asked: dict[str, Any]) -> dict[str, Any]:
        succeeded = all(self._holds(each) for each in asked["compare"])
        answers = [self._do(each) for each in asked.get("success" if succeeded else "failure", ())]
        return {"succeeded": succeeded, "responses": answers, "header": {"revision": str(self.revision)}}

    def range(self, asked: dict[str, Any]) -> dict[str, Any]:
        first, end = (b64decode(asked.get(name, "")) for name in ("key", "range_end"))
        found = [key for key in self.keys if first == key.encode() or (end and first <= key.encode() < end)]
        return {"kvs": [self._pair(key) for key in found]}

    def _holds(self, guard: dict[str, str]) -> bool:
        key = self.keys.get(b64decode(guard["key"]).decode())
        if guard["target"] == "CREATE":
            return int(guard["create_revision"]) == (0 if key is None else key.created)
        return int(guard["mod_revision"]) == (0 if key is None else key.written)

    def _do(self, change: dict[str, Any]) -> dict[str, Any]:
        if "request_range" in change:
            return {"response_range": self.range(change["request_range"])}
        self.revision += 1
        put = change.get("request_put")
        if put is None:
            del self.keys[b64decode(change["request_delete_range"]["key"]).decode()]
            return {}
        name = b64decode(put["key"]).decode()
        before = self.keys.get(name)
        kept = before is not None and put.get("ignore_value")
        self.keys[name] = _Key(
            before.value if before is not None and kept else put["value"],
            self.revision if before is None else before.created,
            self.revision,
            before.lease if before is not None and put.get("ignore_lease") else put.get("lease", ""),
        )
        return {}

    def _pair(self, name: str) -> dict[str, str]:
        key = self.keys[name]
        return {
            "key": b64encode(name.encode()).decode(), "value": key.value, "lease": key.lease,
            "create_revision": str(key.created), "mod_revision": str(key.written),
        }  # fmt: skip


@pytest.fixture
def etcd() -> MemoryEtcd:
    return MemoryEtcd()


@pytest.fixture
async def engine(etcd: MemoryEtcd) -> AsyncIterator[EtcdEngine]:
    made = EtcdEngine(etcd, "/sprocketmq")  # type: ignore[arg-type]
    async with aclosing(made.lead(OWN)) as led:  # type: ignore[type-var]
        assert await anext(led) == OWN
        await made.load()
        yield made


@pytest.mark.parametrize(("before", "after"), [(SMALL, LARGE), (None, SMALL), (SMALL, None)])
async def test_a_change_without_an_answer_is_there_after_a_load_or_never(
    engine: EtcdEngine, etcd: MemoryEtcd, before: BrokerSet | None, after: BrokerSet | None
) -> None:
    if before is not None:
        await engine.swap(None, before)
    etcd.is_held = True
    with pytest.raises(EngineFailed):
        await engine.swap(before, after)
    etcd.is_held = False
    loaded = await engine.load()
    assert loaded == ({} if before is None else {"a": before})
    assert not etcd.transact(etcd.late[0])["succeeded"], "it came when something else was decided"
    assert await engine.load() == loaded
    await engine.swap(before, after)
    assert await engine.load() == ({} if after is None else {"a": after})


async def test_a_change_whose_answer_alone_was_lost_counts(engine: EtcdEngine, etcd: MemoryEtcd) -> None:
    etcd.is_silent = True
    with pytest.raises(EngineFailed):
        await engine.swap(None, SMALL)
    etcd.is_silent = False
    assert await engine.load() == {"a": SMALL}
    await engine.swap(SMALL, LARGE)


@pytest.mark.parametrize("comes_late", [True, False])
async def test_a_fence_without_an_answer_is_raised_again(
    engine: EtcdEngine, etcd: MemoryEtcd, comes_late: bool
) -> None:
    etcd.is_held = True
    with pytest.raises(EngineFailed):
        await engine.swap(None, SMALL)
    etcd.is_held, etcd.is_silent = comes_late, not comes_late
    with pytest.raises(EngineFailed):
        await engine.load()
    etcd.is_held = etcd.is_silent = False
    assert await engine.load() == {}
    if comes_late:
        assert etcd.transact(etcd.late[1])["succeeded"], "it is the leader's own"
        with pytest.raises(EngineFailed):
            await engine.swap(None, SMALL)
        assert await engine.load() == {}
    await engine.swap(None, SMALL)
    assert not etcd.transact(etcd.late[0])["succeeded"]
    assert await engine.load() == {"a": SMALL}


async def test_who_was_deposed_in_doubt_learns_it(engine: EtcdEngine, etcd: MemoryEtcd) -> None:
    etcd.is_held = True
    with pytest.raises(EngineFailed):
        await engine.swap(None, SMALL)
    etcd.is_held = False
    (leader,) = etcd.keys
    etcd.keys[leader] = replace(etcd.keys[leader], created=99, written=99)
    with pytest.raises(NotLeading):
        await engine.load()
