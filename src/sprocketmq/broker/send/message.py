"""A message on its way into the store, and the place where other kinds of messages step in.

Most messages never become an object: they go from the frame to the log. One with a property or flag that asks for more
(a delay, a timer, a transaction, a retry) becomes a BrokerMessage first and passes the interceptors. Each may change
it, send it to another topic, or refuse it; the last state is what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.protocol.record.properties import CLUSTER, MSG_REGION, TRACE_ON, WAIT, encode_properties
from sprocketmq.protocol.requests.send import SendRequest
from sprocketmq.remoting.peer import Peer
from sprocketmq.store.log.append import PutResult
from sprocketmq.store.store import MessageStore


@dataclass(slots=True, kw_only=True)
class BrokerMessage:
    topic: str
    queue_id: int
    body: bytes
    properties: dict[str, str]
    born_timestamp: int
    born_host: bytes
    flag: int = 0
    sys_flag: int = 0
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    #: The request that brought it, its sender's version and who that is; None for a message of the broker's own.
    request: SendRequest | None = None
    client_version: int = 0
    peer: Peer | None = None
    #: Set by an interceptor: what the sender may recall the message with.
    recall_handle: str | None = None
    #: Told what the store says, once the message is in it.
    on_stored: list[Callable[[PutResult], object]] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        """Whether its sender wants to hear only when it is safe."""
        return self.properties.get(WAIT) != "false"

    def put_to(self, store: MessageStore) -> PutResult:
        result = store.put(
            self.topic, self.queue_id, self.flag, self.sys_flag, self.body,
            encode_properties(self.properties).encode("utf-8", "replace"), self.born_timestamp, self.born_host,
            self.reconsume_times, self.prepared_transaction_offset,
        )  # fmt: skip
        if result.status == 0:
            for hook in self.on_stored:
                hook(result)
        return result


def added_properties(config: BrokerConfig) -> dict[str, str]:
    """What the broker adds to every message that it is sent."""
    return {
        MSG_REGION: config.region_id,
        TRACE_ON: "true" if config.trace_on else "false",
        CLUSTER: config.broker_cluster_name,
    }


#: Changes a message before it is stored, or raises RequestRefused.
Interceptor = Callable[[BrokerMessage], None]
