"""What can go wrong for a user of the client.

    ClientError
        NoRoute         no nameserver knows a broker for the topic
            NoBroker    no nameserver knows the broker, or one of the cluster
        Unreachable     no connection to the address, or it broke before the answer came
            Offline     none of the nameservers answers
        TimedOut        no answer within the deadline; the request may have been carried out
        Refused         the broker answered with a code that is not success; code and remark say why
        Closed          the client was stopped, or not started yet
        Overloaded      the send buffer is full and stayed full until the deadline
        InvalidMessage  the message breaks a rule of RocketMQ; sending it again cannot help
        InvalidName     a group or topic that no broker would take

`retriable` says whether the same call may succeed when it is made again.
"""

from __future__ import annotations

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import SprocketError

#: Answers after which another broker, or the same one later, may accept the request: RocketMQ 5 retries these.
RETRIABLE_CODES = frozenset(
    int(code)
    for code in (
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.NO_PERMISSION,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.FLOW_CONTROL,
        ResponseCode.GO_AWAY,
        ResponseCode.NOT_LEADER_FOR_QUEUE,
    )
)


class ClientError(SprocketError):
    """The base of what the client raises."""


class NoRoute(ClientError):
    """No nameserver knows a broker that serves the topic."""

    retriable = True

    def __init__(self, topic: str, reason: str = "no broker serves it") -> None:
        super().__init__(f"no route to topic {topic}: {reason}")
        self.topic = topic


class NoBroker(NoRoute):
    """No nameserver knows the broker, or any broker of the cluster."""

    def __init__(self, wanted: str) -> None:
        ClientError.__init__(self, f"no nameserver knows {wanted}")
        self.topic = ""


class Unreachable(ClientError):
    """The peer cannot be reached, or the connection broke before its answer came."""

    retriable = True

    def __init__(self, address: str, reason: str, *, is_lasting: bool = False) -> None:
        super().__init__(f"{address} cannot be reached: {reason}")
        self.address = address
        self.reason = reason
        self.is_lasting = is_lasting  # it will not pass by itself: a certificate, a name that is no address


class Offline(Unreachable):
    """None of the nameservers answers."""

    def __init__(self, nameservers: list[str], reason: str, *, is_lasting: bool = False) -> None:
        super().__init__(f"nameserver {', '.join(nameservers)}", reason, is_lasting=is_lasting)
        self.nameservers = nameservers


class TimedOut(ClientError, TimeoutError):
    """The deadline passed without an answer. The peer may have carried the request out all the same."""

    retriable = True


class Refused(ClientError):
    """The peer answered, but not with success."""

    def __init__(self, code: int, remark: str | None, address: str = "") -> None:
        name = ResponseCode(code).name if code in ResponseCode._value2member_map_ else "code"
        where = f" by {address}" if address else ""
        super().__init__(f"refused{where} with {name} ({code}): {remark or 'no remark'}")
        self.code = code
        self.remark = remark
        self.address = address
        self.retriable = code in RETRIABLE_CODES


class Closed(ClientError):
    """The client has been stopped, or was never started."""


class Overloaded(ClientError):
    """The buffer of waiting messages is full."""

    retriable = True


class InvalidMessage(ClientError, ValueError):
    """A message that no broker would take."""


class InvalidName(ClientError, ValueError):
    """The name of a group or a topic that no broker would take."""


def is_unknown_code(error: ClientError) -> bool:
    """Whether the peer refused because it does not know the request, as older ones do not know the newer."""
    return isinstance(error, Refused) and error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
