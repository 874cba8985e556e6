"""TLS between transport and connection: the same frames, bounds and ends as without it."""

from __future__ import annotations

import asyncio
import socket
import ssl

import pytest
from tests.certificates import Certificates

from sprocketmq.errors import ConnectFailed, ConnectionLost
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting import Limits, RemotingClient
from sprocketmq.remoting.tls.layer import TlsTransport

from ..wire import until
from .conftest import Peer, Serve

BODY = bytes(range(256)) * 4096


async def test_both_sides_are_ours(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys(tls_server_mode="enforcing"))
    client = RemotingClient(ssl=certificates.caller())
    assert (await client.call(server.address, Command(1, body=BODY), 60)).body == BODY
    opaque, answer = (connection := await client.connect(server.address)).expect(60)
    assert connection.is_encrypted
    frame = encode_frame(Command(1, opaque=opaque, body=BODY))
    connection.put_now([frame[:100], bytearray(frame[100:])])
    assert (await answer).body == BODY
    many = [connection.request(Command(1, body=b"%d" % number), 60) for number in range(2000)]
    assert [(await each).body for each in many] == [b"%d" % number for number in range(2000)]
    await client.close()


@pytest.mark.parametrize("size", [0, 1, 16_383, 16_384, 16_385, 1 << 20])
async def test_a_body_of_any_size(serve: Serve, certificates: Certificates, size: int) -> None:
    server = await serve(certificates.server_keys())
    peer = await Peer.connect(server.port, certificates.caller())
    assert await peer.ask(BODY[:size]) == BODY[:size]
    peer.close()


async def test_bytes_may_come_one_by_one(serve: Serve, certificates: Certificates) -> None:
    """Both the handshake and the frames: a record is read when it is whole."""
    server = await serve(certificates.server_keys())
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = certificates.caller().wrap_bio(incoming, outgoing, server_hostname="localhost")
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def trickle() -> None:
        for byte in outgoing.read():
            writer.write(bytes((byte,)))
            await asyncio.sleep(0)

    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            await trickle()
            incoming.write(await reader.read(65536))
    tls.write(encode_frame(Command(1, body=b"slow")))
    await trickle()
    answer = b""
    while b"slow" not in answer:
        incoming.write(await reader.read(65536))
        try:
            answer += tls.read(65536)
        except ssl.SSLWantReadError:
            continue
    writer.transport.abort()


async def test_a_goodbye_ends_the_connection(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=certificates.caller())
    writer.write(encode_frame(Command(1, body=b"x")))
    assert await reader.read(1)
    writer.close()  # close_notify, and it waits for ours
    await writer.wait_closed()
    await until(lambda: len(server.connections) == 0)


async def test_our_goodbye_is_heard(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=certificates.caller())
    writer.write(encode_frame(Command(1, body=b"x")))
    await reader.read(1)
    for connection in server.connections:
        connection.close()
    rest = await reader.read()  # an end without goodbye would raise
    assert rest.endswith(b"x")
    writer.transport.abort()


async def test_damage_after_the_handshake_ends_it(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys())
    peer = await Peer.connect(server.port, certificates.caller())
    await peer.ask()
    (connection,) = server.connections
    transport = connection._transport
    assert isinstance(transport, TlsTransport)
    transport.data_received(b"\x17\x03\x03\x00\x20" + bytes(32))
    assert await peer.is_dropped()
    await until(lambda: len(server.connections) == 0)
    assert connection.end_reason
    peer.close()


async def test_a_peer_that_does_not_read_is_dropped(serve: Serve, certificates: Certificates) -> None:
    """The bounds of unread answers are those of a plain connection."""
    limits = Limits(write_pause_bytes=64 * 1024, write_max_bytes=4 << 20)
    server = await serve(certificates.server_keys(), limits)
    peer = await Peer.connect(server.port, certificates.caller())
    await peer.ask()
    (connection,) = server.connections
    frame = encode_frame(Command(1, body=BODY))
    peer._reader._transport.pause_reading()  # type: ignore[attr-defined]
    asking = asyncio.ensure_future(peer.write(frame * 64))
    await until(lambda: connection.stalled_since is not None)
    assert connection.unread_bytes < 8 << 20
    server.connections.scan((connection.stalled_since or 0.0) + 31)
    await until(lambda: len(server.connections) == 0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    peer.close()


async def test_a_peer_that_reads_late_gets_everything(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys(), Limits(write_pause_bytes=64 * 1024))
    client = RemotingClient(ssl=certificates.caller())
    connection = await client.connect(server.address)
    answers = [connection.request(Command(1, body=BODY), 60) for _ in range(16)]
    connection._transport.pause_reading()
    await until(lambda: any(each.stalled_since is not None for each in server.connections))
    connection._transport.resume_reading()
    assert {(await answer).body for answer in answers} == {BODY}
    await client.close()


async def test_whom_nobody_vouches_for_will_not_pass_by_itself(serve: Serve, certificates: Certificates) -> None:
    server = await serve(certificates.server_keys())
    client = RemotingClient(ssl=ssl.create_default_context())
    with pytest.raises(ConnectFailed, match="certificate verify failed") as caught:
        await client.connect(server.address)
    assert caught.value.is_lasting
    await client.close()


async def test_a_server_that_ends_or_never_answers(certificates: Certificates) -> None:
    """A plain server behind a client that wants TLS."""

    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    for handler, seconds, reason in ((hang_up, 60, "TLS handshake"), (say_nothing, 0.3, "no connection within")):
        server = await asyncio.start_server(handler, "127.0.0.1", 0)
        client = RemotingClient(ssl=certificates.caller(), connect_timeout=seconds)
        with pytest.raises((ConnectFailed, ConnectionLost), match=reason) as caught:
            await client.call(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", Command(1), 60)
        assert not getattr(caught.value, "is_lasting", False)  # it may be about to start, behind a proxy
        await until(lambda client=client: len(client.connections) == 0)  # type: ignore[misc]
        await client.close()
        server.close()
