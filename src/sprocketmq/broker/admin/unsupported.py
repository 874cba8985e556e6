"""What tools may ask for and this broker has not: answered with a code and a reason, so that nobody waits.

That a request code is not supported at all is said of what RocketMQ's broker does not know either, outside a container.
"""

from __future__ import annotations

from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.remoting import Connection, ProcessorTable, Reply

_NO_ACL = "access control is not switched on in this broker"
_NO_CONTAINER = "this broker is no container of brokers"

REFUSALS: dict[int, tuple[int, str]] = {
    **dict.fromkeys(
        (
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
            RequestCode.DELETE_ACL_CONFIG,
            RequestCode.GET_BROKER_CLUSTER_ACL_INFO,
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
            RequestCode.AUTH_CREATE_USER,
            RequestCode.AUTH_UPDATE_USER,
            RequestCode.AUTH_DELETE_USER,
            RequestCode.AUTH_GET_USER,
            RequestCode.AUTH_LIST_USER,
            RequestCode.AUTH_CREATE_ACL,
            RequestCode.AUTH_UPDATE_ACL,
            RequestCode.AUTH_DELETE_ACL,
            RequestCode.AUTH_GET_ACL,
            RequestCode.AUTH_LIST_ACL,
        ),
        (ResponseCode.SYSTEM_ERROR, _NO_ACL),
    ),
    **dict.fromkeys(
        (RequestCode.ADD_BROKER, RequestCode.REMOVE_BROKER), (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, _NO_CONTAINER)
    ),
}


class RefusalProcessors:
    def add_to(self, table: ProcessorTable) -> None:
        table.add(REFUSALS, self.refuse)

    def refuse(self, _connection: Connection, request: Command) -> Reply:
        raise RequestRefused(*REFUSALS[request.code])
