"""Plays a scene against real servers and tells what came of it."""

from __future__ import annotations

import asyncio
import hashlib
import re
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.model import Burst, Close, Mask, Request, Scene, Step, Wait
from tests.corpus.network import MemoryTransport, VirtualLoop
from tests.corpus.servers import PORTS, Servers, fixed_world, seed
from tests.corpus.wire import Frame, take_frames

#: The clock goes on by this much from step to step, so that every step has a time of its own.
_STEP_SECONDS = 0.01
#: Only the running process is meant by these.
_SKIPPED = {
    "lock": "holds nothing; it is locked while a broker runs",
    "abort": "the process id of a broker that runs; gone after a clean stop",
}
_SYNC = {"flushDiskType": "SYNC_FLUSH"}


@dataclass(frozen=True)
class Answer:
    """A frame that came on a connection, or the end of one."""

    connection: str
    frame: Frame | None


@dataclass(frozen=True)
class Played:
    """`answers` are those of each step, by its name; `files` size and SHA-256 of each file, after a clean stop."""

    answers: dict[str, list[Answer]]
    files: dict[str, str]
    codes: frozenset[int]


class Client(asyncio.Protocol):
    """One connection of the scene's client."""

    transport: MemoryTransport

    def __init__(self) -> None:
        self.data = bytearray()
        self.closed = False
        self.asked: Frame | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, MemoryTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True


class Player:
    def __init__(self, scene: Scene, loop: VirtualLoop) -> None:
        self._scene = scene
        self._loop = loop
        self._clients: dict[str, Client] = {}
        self._asked: dict[int, Request] = {}
        self._first: dict[str, Frame] = {}
        self._waits_for_flush = any(_SYNC.items() <= entries.items() for entries in scene.servers.values())

    def play(self, step: Step) -> list[Answer]:
        """The frames that came while the step was taken."""
        seed()
        self._loop.advance(_STEP_SECONDS)
        if isinstance(step, Request):
            self._client(step).transport.write(self._made(step))
        elif isinstance(step, Burst):
            self._ask_at_once(step)
        elif isinstance(step, Close):
            self._clients[step.on].transport.close()
        self._loop.settle()
        if self._waits_for_flush and isinstance(step, Request) and not step.is_oneway:
            client = self._clients[step.on]
            self._loop.wait_for_threads(lambda: bool(client.data) or client.closed)
        if isinstance(step, Request | Wait) and step.seconds:
            self._loop.advance(step.seconds)
        return self.collect()

    def _ask_at_once(self, burst: Burst) -> None:
        client = self._client(burst.requests[0])
        data = b"".join(self._made(step) for step in burst.requests)
        for at in range(0, len(data), burst.read_size):
            client.transport.write(data[at : at + burst.read_size])

    def _client(self, step: Request) -> Client:
        client = self._clients.get(step.on)
        if client is None or client.closed:
            client = self._clients[step.on] = self._connect(step)
        return client

    def _made(self, step: Request) -> bytes:
        self._asked[step.opaque] = step
        if not step.answers_server:
            return step.made(self._first)
        asked = self._client(step).asked
        assert asked is not None, f"{step.name}: the server has asked nothing"
        return step.made(self._first, asked.opaque)

    def _connect(self, step: Request) -> Client:
        host = "10.0.0.9" if step.on.startswith("far") else "127.0.0.1"
        own = (host, 50_001 + len(self._clients))
        client = Client()

        async def join() -> None:
            self._loop.join(lambda: client, own, ("127.0.0.1", PORTS[step.server]))

        self._loop.run(join())
        return client

    def collect(self) -> list[Answer]:
        """What has come on any connection since the last time."""
        answers = []
        for name, client in sorted(self._clients.items()):
            answers += [Answer(name, self._taken(client, frame)) for frame in take_frames(client.data)]
            if client.closed:
                answers.append(Answer(name, None))
                del self._clients[name]
        return answers

    def _taken(self, client: Client, frame: Frame) -> Frame:
        if not frame.is_response:
            client.asked = frame
            return frame
        asked = self._asked.get(frame.opaque)
        if asked is None:
            return frame
        self._first.setdefault(asked.name, frame)
        return _masked(frame, asked.masks)


def play(scene: Scene, folder: Path) -> Played:
    """Play it in an empty folder, which then holds what the servers left."""
    folder.mkdir(parents=True)
    with chdir(folder), fixed_world():
        loop = VirtualLoop()
        try:
            seed()
            servers = Servers(loop, scene.servers)
            player = Player(scene, loop)
            answers: dict[str, list[Answer]] = {}
            for step in scene.steps:
                assert step.name not in answers, f"two steps are called {step.name!r}"
                answers[step.name] = player.play(step)
            codes = servers.codes()
            servers.stop()
            answers["stop"] = player.collect()
        finally:
            loop.close()
    return Played(answers, hashes(folder), codes)


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in _SKIPPED)
    return {path.relative_to(folder).as_posix(): _hash(path) for path in files}


def _hash(path: Path) -> str:
    data = path.read_bytes()
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}"


def _masked(frame: Frame, masks: tuple[Mask, ...]) -> Frame:
    body = frame.body
    for mask in masks:
        body = re.sub(mask.pattern, b"<masked>", body)
    return Frame(frame.kind, frame.header, body)


def requests(scene: Scene) -> list[Request]:
    """All of a scene's requests, those of bursts too."""
    found: list[Request] = []
    for step in scene.steps:
        if isinstance(step, Request):
            found.append(step)
        elif isinstance(step, Burst):
            found += step.requests
    return found
