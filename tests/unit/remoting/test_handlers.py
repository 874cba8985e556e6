from __future__ import annotations

import asyncio
import logging

import pytest
from tests.unit.remoting.conftest import StartServer
from tests.unit.remoting.wire import BarePeer

from sprocketmq.codes import FLAG_ONEWAY, RequestCode, ResponseCode
from sprocketmq.errors import BodyError, CommandError, RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, ProcessorTable, RemotingClient, Reply
from sprocketmq.remoting.answer_times import UNKNOWN
from sprocketmq.remoting.handlers import Authority


def raising(error: Exception) -> ProcessorTable:
    def handler(_connection: Connection, _request: Command) -> Reply:
        raise error

    table = ProcessorTable()
    table.add(RequestCode.SEND_MESSAGE, handler)
    return table


async def test_unknown_code_is_answered_and_the_connection_lives(start_server: StartServer) -> None:
    server = await start_server(ProcessorTable())
    peer = await BarePeer.connect(server.port)
    for opaque in (7, 8):
        await peer.write(Command(9999, opaque=opaque))
        answer = await peer.read()
        assert answer is not None
        assert (answer.code, answer.opaque) == (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, opaque)
        assert answer.is_response
        assert "9999" in (answer.remark or "")
    peer.close()


@pytest.mark.parametrize(
    ("error", "code", "remark"),
    [
        (RequestRefused(ResponseCode.NO_PERMISSION, "not you"), ResponseCode.NO_PERMISSION, "not you"),
        (CommandError("lacks topic"), ResponseCode.SYSTEM_ERROR, "lacks topic"),
        (BodyError("not JSON"), ResponseCode.SYSTEM_ERROR, "not JSON"),
    ],
)
async def test_errors_become_answers(
    start_server: StartServer, client: RemotingClient, error: Exception, code: int, remark: str
) -> None:
    server = await start_server(raising(error))
    answer = await client.call(server.address, Command(RequestCode.SEND_MESSAGE), 60)
    assert (answer.code, answer.remark) == (code, remark)


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (RequestRefused(ResponseCode.NO_PERMISSION, "not you"), "WARNING"),
        (RequestRefused(ResponseCode.SYSTEM_BUSY, "too much"), "INFO"),
        (BodyError("not JSON"), "INFO"),
        (RequestRefused(ResponseCode.QUERY_NOT_FOUND, "nothing there"), "DEBUG"),
    ],
)
async def test_a_refusal_is_logged_with_the_number_of_its_request(
    start_server: StartServer, error: Exception, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = await start_server(raising(error))
    peer = await BarePeer.connect(server.port)
    with caplog.at_level(logging.DEBUG, "sprocketmq.remoting.processors"):
        await peer.write(Command(RequestCode.SEND_MESSAGE, opaque=4711))
        await peer.read()
    (line,) = [record for record in caplog.records if record.message == "request refused"]
    told = vars(line)["fields"]
    assert (line.levelname, told["code"], told["request"]) == (level, RequestCode.SEND_MESSAGE, 4711)
    assert told["reason"] == str(getattr(error, "remark", error))
    peer.close()


async def test_a_bug_is_logged_and_its_details_stay_here(
    start_server: StartServer, client: RemotingClient, caplog: pytest.LogCaptureFixture
) -> None:
    server = await start_server(raising(KeyError("secret")))
    with caplog.at_level(logging.ERROR):
        answer = await client.call(server.address, Command(RequestCode.SEND_MESSAGE), 60)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "secret" not in (answer.remark or "")
    assert "secret" in caplog.text


async def test_an_answer_that_cannot_be_encoded_is_a_bug_too(start_server: StartServer, client: RemotingClient) -> None:
    table = ProcessorTable()
    table.add(1, lambda _connection, request: request.reply(0, "\ud800 is no text"))
    server = await start_server(table)
    answer = await client.call(server.address, Command(1), 60)
    assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_authority_comes_before_the_handler(start_server: StartServer, client: RemotingClient) -> None:
    table = raising(AssertionError("must not run"))

    class Refusing(Authority):
        def check(self, connection: Connection, _request: Command) -> bool:
            raise RequestRefused(ResponseCode.NO_PERMISSION, f"no account for {connection.peer.host}")

    table.authority = Refusing()
    server = await start_server(table)
    answer = await client.call(server.address, Command(RequestCode.SEND_MESSAGE), 60)
    assert (answer.code, answer.remark) == (ResponseCode.NO_PERMISSION, "no account for 127.0.0.1")
    for made_up in (30_001, 30_002, 30_003):
        await client.call(server.address, Command(made_up), 60)
    refused = int(ResponseCode.NO_PERMISSION)
    assert {kind[:2] for kind in table.times.kinds} == {(10, refused), (UNKNOWN, refused)}, "peers name no label"


async def test_slow_handlers_run_beside_each_other_up_to_a_bound(start_server: StartServer) -> None:
    release = asyncio.Event()

    async def slow(_connection: Connection, request: Command) -> Reply:
        await release.wait()
        return request.reply(0)

    table = ProcessorTable(max_slow=4)
    table.add_slow([1, 2], slow)
    peer = await BarePeer.connect((await start_server(table)).port)
    await peer.write(*(Command(1, opaque=opaque) for opaque in (1, 2, 3)))
    refused = await peer.read()
    assert refused is not None
    assert (refused.code, refused.opaque) == (ResponseCode.SYSTEM_BUSY, 3)
    release.set()
    answers = [await peer.read(), await peer.read()]
    assert {answer.opaque for answer in answers if answer} == {1, 2}
    peer.close()


async def test_one_address_leaves_half_of_the_slow_ones_to_others(start_server: StartServer) -> None:
    release = asyncio.Event()

    async def slow(_connection: Connection, request: Command) -> Reply:
        await release.wait()
        return request.reply(0)

    table = ProcessorTable(max_slow=4)
    table.add_slow(1, slow)
    port = (await start_server(table)).port

    async def busy(source: str, *opaques: int) -> BarePeer:
        peer = await BarePeer.connect(port, source=source)
        await peer.write(*(Command(1, opaque=opaque) for opaque in opaques))
        refused = await peer.read()
        assert refused is not None
        assert (refused.code, refused.opaque) == (ResponseCode.SYSTEM_BUSY, opaques[-1])
        return peer

    peers = [await busy("127.0.0.2", 1, 2, 3), await busy("127.0.0.2", 4)]  # another connection has no share of its own
    peers.append(await busy("127.0.0.3", 5, 6, 7))
    peers.append(await busy("127.0.0.4", 8))  # now it is the bound of all
    release.set()
    assert [(await peers[number].read()) is not None for number in (0, 0, 2, 2)] == [True] * 4
    await peers[0].write(Command(1, opaque=9))
    answer = await peers[0].read()
    assert answer is not None
    assert answer.code == 0
    for peer in peers:
        peer.close()


async def test_slow_errors_become_answers(start_server: StartServer, client: RemotingClient) -> None:
    async def slow(_connection: Connection, _request: Command) -> Reply:
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, "no such topic")

    table = ProcessorTable()
    table.add_slow(5, slow)
    server = await start_server(table)
    answer = await client.call(server.address, Command(5), 60)
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST


async def test_oneway_requests_are_never_answered(start_server: StartServer) -> None:
    async def slow(_connection: Connection, request: Command) -> Reply:
        return request.reply(0)

    table = ProcessorTable()
    table.add(1, lambda _connection, request: request.reply(0))
    table.add_slow(2, slow)
    peer = await BarePeer.connect((await start_server(table)).port)
    await peer.write(
        Command(1, opaque=1, flag=FLAG_ONEWAY),
        Command(2, opaque=2, flag=FLAG_ONEWAY),
        Command(77, opaque=3, flag=FLAG_ONEWAY),
        Command(2, opaque=4),
    )
    answer = await peer.read()
    assert answer is not None
    assert answer.opaque == 4
    peer.close()


def test_codes_lists_what_is_served() -> None:
    table = ProcessorTable()
    table.add([1, 2], lambda _connection, _request: None)
    assert table.codes() == {1, 2}
