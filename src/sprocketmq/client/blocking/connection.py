"""Requests over plain sockets, for code that has no event loop: Spark's tasks, which live as long as their input does.

One connection per address, made when it is first needed. Replies come in any order; `receive` hands out whichever is
next, so a caller may have several requests on their way. Nothing here is shared between threads.
"""

from __future__ import annotations

import itertools
import select
import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from sprocketmq.client.blocking.frame_reader import Inbox
from sprocketmq.client.cluster.requests import check, request
from sprocketmq.client.cluster.route import AUTO_CREATE_TOPIC, Route
from sprocketmq.client.errors import ClientError, NoRoute, Offline, Refused, TimedOut, Unreachable
from sprocketmq.client.options import ClientOptions
from sprocketmq.codes import RequestCode, ResponseCode, SerializeType
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.route import TopicRouteData
from sprocketmq.protocol.bodies.topic import TopicList
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.protocol.message_queue import MessageQueue

T = TypeVar("T")

_LONGEST_PAUSE_S = 5.0


class BlockingConnection:
    """One socket to one peer."""

    def __init__(self, address: str, options: ClientOptions) -> None:
        self.address, self._options = address, options
        host, _, port = address.rpartition(":")
        self._numbers = itertools.count(1)
        self._inbox = Inbox()
        self._arrived: list[Command] = []
        self._socket = self._connect(host.strip("[]"), int(port))

    def _connect(self, host: str, port: int) -> socket.socket:
        try:
            plain = socket.create_connection((host, port), self._options.connect_timeout)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tls = self._options.ssl
            return plain if tls is None else tls.wrap_socket(plain, server_hostname=host)
        except TimeoutError:
            raise TimedOut(f"no connection to {self.address} within {self._options.connect_timeout:g} s") from None
        except OSError as error:
            raise Unreachable(self.address, str(error)) from None

    def send(self, command: Command) -> int:
        """Put a request on its way; its number comes back in the reply's `opaque`."""
        command.opaque = self.next_number()
        command.serialize_type = SerializeType.ROCKETMQ
        if (keys := self._options.credentials) is not None:
            command.ext_fields = keys.sign(command.ext_fields or {}, command.body, command.code)
        self.put(encode_frame(command))
        return command.opaque

    def next_number(self) -> int:
        """For a request that its caller encodes, and signs: its frame follows by `put`."""
        return next(self._numbers)

    def put(self, frame: bytes) -> None:
        try:
            self._socket.sendall(frame)
        except OSError as error:
            raise Unreachable(self.address, str(error)) from None

    def receive(self, timeout: float | None = None) -> Command:
        """The next reply."""
        seconds = self._options.request_timeout if timeout is None else timeout
        self._socket.settimeout(seconds)
        while not self._arrived:
            try:
                found = self._inbox.read(self._socket)
            except TimeoutError:
                raise TimedOut(f"no answer from {self.address} within {seconds:.3g} s") from None
            except OSError as error:
                raise Unreachable(self.address, str(error)) from None
            if found is None:
                raise Unreachable(self.address, "it closed the connection")
            if found.is_response:
                return found
        return self._arrived.pop(0)

    def call(self, command: Command, timeout: float | None = None) -> Command:
        """The reply to this request; replies to others that come before it stay for `receive`."""
        number = self.send(command)
        others: list[Command] = []
        try:
            while (reply := self.receive(timeout)).opaque != number:
                others.append(reply)
        finally:
            self._arrived[:0] = others
        return reply

    def is_over(self) -> bool:
        """Whether the peer has hung up, asked while nothing is awaited: all that can come then is the end."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(self._arrived or poll.poll(0))

    def close(self) -> None:
        self._socket.close()


class BlockingCluster:
    """Nameservers, brokers and routes; a `with` block closes what it opened.

    `retries` and `pause` say how often and after how many seconds a call is made again whose peer does not answer;
    the pause doubles each time.
    """

    def __init__(self, options: ClientOptions, *, retries: int = 3, pause: float = 0.1) -> None:
        self.options, self._retries, self._pause = options, retries, pause
        self.sign = None if options.credentials is None else options.credentials.sign
        self._connections: dict[str, BlockingConnection] = {}
        self._routes: dict[str, Route] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def wake(self) -> None:
        """To be called after a rest: forgets connections that ended meanwhile, and routes, which may have changed."""
        self._routes.clear()
        for address in [address for address, one in self._connections.items() if one.is_over()]:
            self.drop(address)

    # -- connections ------------------------------------------------------------------------------------------------

    def connection(self, address: str) -> BlockingConnection:
        found = self._connections.get(address)
        if found is None:
            found = self._connections[address] = BlockingConnection(address, self.options)
        return found

    def drop(self, address: str) -> None:
        """Forget a connection that broke, and every route: brokers may have moved."""
        self._routes.clear()
        if (broken := self._connections.pop(address, None)) is not None:
            broken.close()

    def ask(self, address: str, code: int, header: object | None = None, *, body: bytes = b"") -> Command:
        """One request to one peer; the reply may have any code."""
        try:
            return self.connection(address).call(request(code, header, body))
        except ClientError:
            self.drop(address)
            raise

    def insist(self, attempt: Callable[[], T], *, at_most: int | None = None) -> T:
        """The result of `attempt`, made again while its error may pass, no more often than `at_most`.

        Nameservers were insisted on when they are said to be Offline: that is not waited for twice.
        """
        pause = self._pause
        retries = self._retries if at_most is None else min(at_most, self._retries)
        for left in reversed(range(retries + 1)):
            try:
                return attempt()
            except Offline:
                raise
            except ClientError as error:
                if not error.retriable or left == 0:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        raise AssertionError("unreachable")

    # -- routes -----------------------------------------------------------------------------------------------------

    def topics(self) -> list[str]:
        """Every topic that the nameservers know."""
        answer = self._nameserver(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        return sorted(codec.decode(TopicList, check(answer).body).topic_list)

    def route(self, topic: str, *, fresh: bool = False) -> Route:
        """Raises NoRoute for a topic that no nameserver knows."""
        if fresh or topic not in self._routes:
            header = {"topic": topic, "acceptStandardJsonOnly": "true"}
            answer = self._nameserver(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
            if answer.code == ResponseCode.TOPIC_NOT_EXIST:
                raise NoRoute(topic, "no nameserver knows it")
            self._routes[topic] = Route.of(topic, codec.decode(TopicRouteData, check(answer).body))
        return self._routes[topic]

    def route_to_send(self, topic: str, queue_count: int = 4) -> Route:
        """The route of a topic; of one that does not exist, where a broker would create it."""
        try:
            return self.route(topic)
        except NoRoute:
            template = self.route(AUTO_CREATE_TOPIC)
        counts = {name: min(count, queue_count) for name, count in template.write_counts.items()}
        return Route(topic, template.addresses, template.clusters, counts, counts)

    def address(self, queue: MessageQueue) -> str:
        """Where to ask about a queue; the route is fetched again when it does not know the broker."""
        found = self.route(queue.topic).address(queue.broker_name)
        found = found or self.route(queue.topic, fresh=True).address(queue.broker_name)
        if found is None:
            raise NoRoute(queue.topic, f"broker {queue.broker_name} is gone")
        return found

    def _nameserver(self, code: int, header: object | None = None) -> Command:
        try:
            return self.insist(lambda: self._first_answer(code, header))
        except Unreachable as error:
            raise Offline(list(self.options.nameservers), error.reason) from None

    def _first_answer(self, code: int, header: object | None) -> Command:
        reason = ""
        for address in self.options.nameservers:
            try:
                return self.ask(address, code, header)
            except (TimedOut, Unreachable) as error:
                reason = getattr(error, "reason", str(error))  # without the address, which is named already
        raise Unreachable("the nameservers", reason)


def refused(answer: Command, address: str) -> Refused:
    return Refused(answer.code, answer.remark, address)
