"""A damaged place of the log is mended with the bytes that another broker of the set has.

    damage met -> who else is there? -> its records there -> do they fit, and are both logs one? -> written over, synced

The others are a slave's master, and those of this broker's name at the nameservers that `brokerAllowFrom` allows, as it
does for the log itself. They are asked for one record after the other by VIEW_MESSAGE_BY_ID, as in `log_comparison`,
until the log here goes on with a whole one. That one must be the same in both: it holds its place and time, so that two
logs which agree in it agree in all before. There is always one, for a log whose last record is damaged ends before it.
Nothing is written before all of this holds.

A pull that meets damage is not answered beyond it while others are asked, and open transactions are looked for again
when theirs are mended. When nobody has the message, it is passed over as without replicas, and asked for again after a
while. A lookup by key tells of damage, too, for the index knows where messages begin. One by message id does not: an id
may name any place, and strangers would have brokers ask one another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress

from sprocketmq.auth.authentication.inner_signer import InnerSigner
from sprocketmq.broker.handlers.lookup import RAW_VIEW
from sprocketmq.broker.roles import Roles
from sprocketmq.broker.settings import Settings
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import SprocketError, StoreError
from sprocketmq.logs import Events
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.cluster import GetBrokerMemberGroupResponseBody
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import to_ext_fields
from sprocketmq.protocol.headers.nameserver import GetBrokerMemberGroupRequestHeader
from sprocketmq.remoting import RemotingClient
from sprocketmq.remoting.allowed_peers import AllowedPeers
from sprocketmq.remoting.peer import parse_address, peer_of
from sprocketmq.store.log_repair import PeerRecord, following_place, is_written, peer_record, sync_all, write_over
from sprocketmq.store.store import MessageStore

events = Events("sprocketmq.broker.replication")

_CALL_SECONDS = 1.5
#: Of one damaged place, with all who are asked; who waits for it waits longer.
_MEND_SECONDS = 5.0
#: One that nobody had is asked for again after so long.
_AGAIN_SECONDS = 60.0
_MOST_PUT_OFF = 1024
#: What the start has found is tried again after a rest that grows from this to the same.
_FIRST_REST = 0.1
#: Of one damaged place.
_MOST_BYTES = 64 << 20

Wake = Callable[[str, int], object]


class LogRepair:
    """`count` is how many records were mended. `wake` is told of each queue where a pull may go on."""

    def __init__(
        self, settings: Settings, store: MessageStore, roles: Roles, client: RemotingClient, signer: InnerSigner,
        own_address: Callable[[], str], wake: Iterable[Wake],
    ) -> None:  # fmt: skip
        self.count = 0
        self._settings = settings
        self._store = store
        self._roles = roles
        self._client = client
        self._signer = signer
        self._own_address = own_address
        self._wake = list(wake)
        #: Places that are being mended, and the queue whose pulls wait for each.
        self._under_way: dict[int, tuple[str, int]] = {}
        self._put_off_until: dict[int, float] = {}
        self._cuts = 0
        self._tasks: set[asyncio.Task[None]] = set()
        store.damaged.is_being_mended = self.is_being_mended

    def start(self) -> None:
        if self._store.report.damaged:
            self._run(self._mend_found([damage.commit_offset for damage in self._store.report.damaged]))

    async def stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def log_cut(self) -> None:
        """What others were asked for may not be what belongs there now."""
        self._cuts += 1

    # -- which places -------------------------------------------------------------------------------------------------

    def is_being_mended(self, topic: str, queue_id: int, at: int) -> bool:
        """Whether others are asked for the record at `at` of the log; begins to, unless they were lately."""
        if at in self._under_way:
            return True
        if not (self._store.log.min_offset <= at < self._end) or not self._has_peers:
            return False
        now = asyncio.get_running_loop().time()
        if now < self._put_off_until.get(at, now):
            return False
        self._under_way[at] = (topic, queue_id)
        self._run(self._mend_for_pulls(at))
        return True

    def check(self, at: int) -> None:
        """A slave goes on from here. Where the record is damaged it would come here again and again, for it takes none
        that is.
        """
        with suppress(StoreError):  # a page that cannot be read is told of when it is given
            ends_file = following_place(self._store.log, at) != at
            if at < self._end and not ends_file and self._store.reader.record_at(at) is None:
                self.is_being_mended("", 0, at)

    @property
    def _end(self) -> int:
        """What lies behind was written by this process, or is not there."""
        return min(self._store.getter.check_below, self._store.log.max_offset)

    @property
    def _has_peers(self) -> bool:
        return bool(self._settings.current.nameservers or self._roles.current.master_address)

    def _run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _mend_for_pulls(self, at: int) -> None:
        try:
            await self._mend(at)
        finally:
            self._put_off(at)
            queue = self._under_way.pop(at)
            for wake in self._wake:
                wake(*queue)

    def _put_off(self, at: int) -> None:
        """A pull that still finds no message there passes over it, whatever the reason."""
        if len(self._put_off_until) >= _MOST_PUT_OFF:
            self._put_off_until.clear()
        self._put_off_until[at] = asyncio.get_running_loop().time() + _AGAIN_SECONDS

    async def _mend_found(self, places: list[int]) -> None:
        """What the start has found is mended when somebody can be asked, whether or not it is pulled."""
        rest = _FIRST_REST
        while places:
            await asyncio.sleep(rest)
            rest = min(rest * 2, _AGAIN_SECONDS)
            places = [at for at in places if at >= self._store.log.min_offset and not await self._mend(at)]

    # -- mending ------------------------------------------------------------------------------------------------------

    async def _mend(self, at: int) -> bool:
        found: list[PeerRecord] = []
        try:
            async with asyncio.timeout(_MEND_SECONDS):
                found = await self._find(at)
        except TimeoutError:
            events.debug("damage not mended", offset=at, reason="the others do not answer in time")
        return bool(found) and await self._write(found)

    async def _find(self, at: int) -> list[PeerRecord]:
        """What belongs at `at`, from the first who has it; nothing where nobody does."""
        for peer in await self._peers():
            cuts = self._cuts
            try:
                found = await self._found_at(peer, at)
            except (SprocketError, OSError) as error:
                events.debug("damage not mended", offset=at, peer=peer, reason=error)
                continue
            if cuts == self._cuts:
                return found
        return []

    async def _peers(self) -> list[str]:
        config, master = self._settings.current, self._roles.current.master_address
        access = config.broker_access()
        members = [each for each in await self._members() if _is_allowed(each, access)]
        peers = [each for each in dict.fromkeys([master, *members]) if each and each != self._own_address()]
        if config.has_accounts:
            for peer in peers:
                self._signer.learn(peer, access)
        return peers

    async def _members(self) -> list[str]:
        """The brokers of this name, as a nameserver knows them now."""
        config = self._settings.current
        header = GetBrokerMemberGroupRequestHeader(
            cluster_name=config.broker_cluster_name, broker_name=config.broker_name
        )
        for nameserver in config.nameservers:
            request = Command(RequestCode.GET_BROKER_MEMBER_GROUP, ext_fields=to_ext_fields(header))
            try:
                answer = await self._client.call(nameserver, request, _CALL_SECONDS)
                group = codec.decode(GetBrokerMemberGroupResponseBody, answer.body).broker_member_group
            except (SprocketError, OSError):
                continue
            if group is not None:
                return list(group.broker_addrs.values())
        return []

    async def _found_at(self, peer: str, at: int) -> list[PeerRecord]:
        """The records that belong from `at` on up to the first whole one here. Raises SprocketError."""
        reader, found, size = self._store.reader, list[PeerRecord](), 0
        while not found or (at < self._end and reader.record_at(at) is None):
            found.append(peer_record(await self._ask(peer, at), at))
            end = at + len(found[-1].data)
            size += end - at
            if end > self._end or size > _MOST_BYTES:
                raise StoreError(f"the record at {at} ends at {end}, where the log has no room for it")
            at = following_place(self._store.log, end)
        if reader.record_at(at) is None or await self._ask(peer, at) != reader.bytes_at(at):
            raise StoreError(f"its log is another one at {at}")
        return found

    async def _ask(self, peer: str, at: int) -> bytes:
        request = Command(RequestCode.VIEW_MESSAGE_BY_ID, ext_fields={"offset": str(at), RAW_VIEW: "true"})
        answer = await self._client.call(peer, request, _CALL_SECONDS)
        if answer.code != ResponseCode.SUCCESS:
            raise SprocketError(answer.remark)
        return bytes(answer.body)

    async def _write(self, found: list[PeerRecord]) -> bool:
        """Readers have the records at once; only this task waits until the disk has them."""
        log, at = self._store.log, found[0].record.commit_offset
        base = log.base_of(at) or 0
        path = log.path_of(base)
        try:
            if is_written(log, found):
                return True
            await asyncio.to_thread(sync_all, write_over(self._store, found))
        except (SprocketError, OSError) as error:
            events.error("damage not mended", error, path=path, offset=at - base)
            return False
        self.count += len(found)
        events.info("damage mended", path=path, offset=at - base, records=len(found))
        return True


def _is_allowed(address: str, brokers: AllowedPeers) -> bool:
    try:
        return brokers.allows(peer_of(parse_address(address)))
    except ValueError:  # a name instead of an address is in no network
        return False
