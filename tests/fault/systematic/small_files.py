"""One call of the disk that fails, at every place of what is done to the small files of brokers and controllers.

The epochs of a log, a broker's identity, its note of the boot, the state of a controller, accounts, the key-value table
of a nameserver. A change that fails is asked for again. Whatever was said to be done is there when the power goes right
behind it; and it is done in the end, for the disk fails once.
"""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, cast
from unittest.mock import patch

from tests.fault.disk import Faults, SimDisk, keep_nothing
from tests.unit.controller.support import three

from sprocketmq.atomic_file import LocalFiles
from sprocketmq.auth.account_files import AccountFiles
from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.users import UserStatus
from sprocketmq.auth.authorization.policies import PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import Action, Decision, Pattern, Resource, ResourceType
from sprocketmq.broker.controller_mode.identity import BootNote, Identity
from sprocketmq.broker.replication.epoch_store import FILE_NAME, EpochStore
from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.controller.broker_sets import BrokerSets
from sprocketmq.controller.decisions import Answer, Outcome
from sprocketmq.controller.engines.file import FileEngine
from sprocketmq.errors import SprocketError
from sprocketmq.nameserver.kvconfig import KVConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.ha.epochs import Epoch

CODES = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EINTR)
_TRIES = 3

Step = Callable[[], Awaitable[object]]


class Script(Protocol):
    """Opened on a disk: `steps` are done one after the other, and `seen` is what there is."""

    def __init__(self, disk: SimDisk) -> None: ...

    async def open(self) -> None: ...

    def steps(self) -> list[Step]: ...

    def seen(self) -> object: ...


class Epochs:
    """The log ends at 9000 in the end; what was cut begins anew at the same place, by another master."""

    def __init__(self, disk: SimDisk) -> None:
        self._store = EpochStore(disk, disk.root / FILE_NAME)

    async def open(self) -> None:
        self._store.load(9000)

    def steps(self) -> list[Step]:
        store = self._store
        return [
            lambda: store.lead(1, 0, 0), lambda: store.add(Epoch(2, 3000)), lambda: store.add(Epoch(3, 5000)),
            lambda: store.cut(4000), lambda: store.add(Epoch(4, 4000)), lambda: store.lead(5, 3500, 4000),
            lambda: store.cut(4000), lambda: store.lead(6, 3500, 4100),
        ]  # fmt: skip

    def seen(self) -> object:
        return self._store.list.all


class _Granting:
    """A controller that knows a check code again."""

    def __init__(self) -> None:
        self.granted: dict[str, str] = {}

    async def demand(self, _code: int, header: Any) -> Command:
        if hasattr(header, "applied_broker_id"):
            known = self.granted.setdefault(str(header.applied_broker_id), header.register_check_code)
            assert known == header.register_check_code, "a second broker would have this id"
            return Command(0)
        return Command(0, ext_fields={"nextBrokerId": str(len(self.granted) + 1)})


class Id:
    controllers = _Granting()

    def __init__(self, disk: SimDisk) -> None:
        controllers, code = cast(Any, self.controllers), iter(range(1000))
        self._identity = Identity(disk, disk.root / "brokerIdentity", "C", "b", controllers, lambda: f"c{next(code)}")
        self._id = 0

    async def open(self) -> None:
        return

    async def _ask(self) -> None:
        self._id = await self._identity.broker_id()

    def steps(self) -> list[Step]:
        Id.controllers.granted.clear()
        return [self._ask, self._ask]

    def seen(self) -> object:
        return Id.controllers.granted.keys() - {"1"}  # it has one id, whatever happens


class Note:
    """A machine that has started anew since is told from one that has not."""

    def __init__(self, disk: SimDisk) -> None:
        self._note = BootNote(disk, disk.root / "boot", Path("/proc/sys/kernel/random/boot_id"))
        self._later = BootNote(disk, disk.root / "boot", Path("/dev/null"))

    async def open(self) -> None:
        return

    def steps(self) -> list[Step]:
        return [self._note.write]

    def seen(self) -> object:
        return self._later.changed()


class State:
    """A controller's sets, changed by rules as brokers ask."""

    def __init__(self, disk: SimDisk) -> None:
        self._sets = BrokerSets(FileEngine(disk.root / "state.json", disk), lambda _record: {})

    async def open(self) -> None:
        await self._sets.reload()

    def steps(self) -> list[Step]:
        first = three()
        states = (first, first.with_in_sync(frozenset({1})), first.with_master(1))
        return [lambda wanted=wanted: self._change(wanted) for wanted in states]  # type: ignore[misc]

    async def _change(self, wanted: BrokerSet) -> None:
        await self._sets.change("ha-a", lambda _record, _living: Outcome(wanted, Answer()), tries=2)

    def seen(self) -> object:
        return self._sets.get("ha-a")


class Accounts:
    def __init__(self, disk: SimDisk) -> None:
        self._store = AccountStore(AccountFiles(disk.root), lambda: 1)

    async def open(self) -> None:
        self._store.load()

    def steps(self) -> list[Step]:
        entry = PolicyEntry(Resource(ResourceType.TOPIC, Pattern.LITERAL, "T"), (Action.PUB,), Decision.ALLOW, ())
        return [
            lambda: self._add("a"), lambda: self._add("b"),
            lambda: self._store.change(lambda store: store.update_user("a", status=UserStatus.DISABLE)),
            lambda: self._store.change(lambda store: store.put_acl("b", {PolicyType.CUSTOM: [entry]})),
            lambda: self._store.change(lambda store: store.delete_user("b")),
        ]  # fmt: skip

    async def _add(self, name: str) -> None:
        if self._store.find(name) is None:
            await self._store.change(lambda store: store.create_user(name, "secret"))

    def seen(self) -> object:
        return self._store.list_users(), [acl.username for acl in self._store.list_acls()]


class KeyValues:
    def __init__(self, disk: SimDisk) -> None:
        self._table = KVConfig(disk.root / "kv.json")

    async def open(self) -> None:
        self._table.load()

    def steps(self) -> list[Step]:
        table = self._table
        return [lambda: table.put("N", "a", "1"), lambda: table.put("N", "b", "2"), lambda: table.delete("N", "a")]

    def seen(self) -> object:
        return self._table.entries("N")


SCRIPTS: dict[str, type[Script]] = {
    "epochs": Epochs, "identity": Id, "note of the boot": Note, "state of a controller": State, "accounts": Accounts,
    "key-value table": KeyValues,
}  # fmt: skip


@contextmanager
def on_disk(disk: SimDisk) -> Iterator[None]:
    """What speaks to the files of the system speaks to `disk`; it reads them from the system's, where they are put."""

    def put(path: Path) -> None:
        if path.exists():
            path.unlink()
        if path in disk.names:
            path.write_bytes(bytes(disk.names[path].live))
            path.chmod(0o600)

    def write(_files: LocalFiles, path: Path, data: bytes, *, sync: bool = True) -> None:
        disk.write_bytes(path, data, sync=sync)

    def rename(_files: LocalFiles, source: Path, target: Path) -> None:
        disk.rename(source, target)
        put(target)

    for name in ("users.json", "acls.json", "kv.json"):
        put(disk.root / name)
    with (
        patch.object(LocalFiles, "exists", lambda _files, _path: True),
        patch.object(LocalFiles, "write_bytes", write),
        patch.object(LocalFiles, "rename", rename),
        patch.object(LocalFiles, "sync_dir", lambda _files, path: disk.sync_dir(path)),
    ):
        yield


async def calls_of(name: str) -> int:
    return (await _perform(name, None, 0))[1]


async def inject(name: str, number: int, code: int) -> list[str]:
    """What went wrong when that call failed."""
    return (await _perform(name, number, code))[0]


async def _perform(name: str, number: int | None, code: int) -> tuple[list[str], int]:
    with TemporaryDirectory() as folder:
        disk = SimDisk(Path(folder))
        script, findings = SCRIPTS[name](disk), list[str]()
        disk.faults.fail_at, disk.faults.fail_with = number, code or errno.EIO
        with on_disk(disk):
            await _try(script.open)
            for at, step in enumerate(script.steps()):
                if not await _try(step):
                    findings.append(f"step {at} is never done")
                    break
                done = _looked(script, disk)
                after = await _after_power_cut(name, disk)
                if after != done:
                    findings.append(f"after step {at} there is {done}, and after a power cut {after}")
        return findings, disk.faults.entered


async def _try(step: Step) -> bool:
    for _ in range(_TRIES):
        try:
            await step()
        except (OSError, SprocketError):
            continue
        return True
    return False


def _looked(script: Script, disk: SimDisk) -> object:
    """What there is; that the test looks is no call of the script."""
    faults = disk.faults
    disk.faults = Faults()
    try:
        return script.seen()
    finally:
        disk.faults = faults


async def _after_power_cut(name: str, disk: SimDisk) -> object:
    cut = disk.power_cut(keep_nothing)
    script = SCRIPTS[name](cut)
    with on_disk(cut):
        await script.open()
        found = script.seen()
    with on_disk(disk):  # puts back what the disk holds
        return found
