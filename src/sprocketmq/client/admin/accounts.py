"""Users and policies of brokers with accounts. Each broker has its own: a change goes to every one that is meant."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from sprocketmq.client.admin.core import AdminCore, one_target
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.acl import AclInfo, UserInfo
from sprocketmq.protocol.headers import acl as headers


class Accounts:
    """`cluster` or `broker` (a name or an address) say which brokers are meant; without them, all."""

    def __init__(self, core: AdminCore) -> None:
        self._core = core

    # -- users --------------------------------------------------------------------------------------------------------

    async def users(self, part: str | None = None, *, broker: str | None = None) -> list[UserInfo]:
        """Those whose name contains `part`, of one broker. Secrets are `***` unless the connection is private."""
        header = headers.ListUsersRequestHeader(filter=part)
        answer = await self._core.call(await self._one(broker), RequestCode.AUTH_LIST_USER, header)
        return [codec.from_tree(UserInfo, tree) for tree in orjson.loads(answer.body or b"[]")]

    async def add_user(self, user: UserInfo, *, cluster: str | None = None, broker: str | None = None) -> list[str]:
        """The brokers that have it now."""
        header = headers.CreateUserRequestHeader(username=user.username)
        return await self._tell(cluster, broker, RequestCode.AUTH_CREATE_USER, header, codec.encode(user))

    async def change_user(self, user: UserInfo, *, cluster: str | None = None, broker: str | None = None) -> list[str]:
        """What is None stays as it is."""
        header = headers.UpdateUserRequestHeader(username=user.username)
        return await self._tell(cluster, broker, RequestCode.AUTH_UPDATE_USER, header, codec.encode(user))

    async def remove_user(self, name: str, *, cluster: str | None = None, broker: str | None = None) -> list[str]:
        """With its policies."""
        header = headers.DeleteUserRequestHeader(username=name)
        return await self._tell(cluster, broker, RequestCode.AUTH_DELETE_USER, header)

    # -- policies -----------------------------------------------------------------------------------------------------

    async def acls(
        self, subject: str | None = None, resource: str | None = None, *, broker: str | None = None
    ) -> list[AclInfo]:
        """Those whose subject and resource contain these, of one broker."""
        header = headers.ListAclsRequestHeader(subject_filter=subject, resource_filter=resource)
        answer = await self._core.call(await self._one(broker), RequestCode.AUTH_LIST_ACL, header)
        return [codec.from_tree(AclInfo, tree) for tree in orjson.loads(answer.body or b"[]")]

    async def put_acl(self, acl: AclInfo, *, cluster: str | None = None, broker: str | None = None) -> list[str]:
        """Add its entries; one for a resource that has one takes its place."""
        header = headers.CreateAclRequestHeader(subject=acl.subject)
        return await self._tell(cluster, broker, RequestCode.AUTH_CREATE_ACL, header, codec.encode(acl))

    async def remove_acl(
        self, name: str, resource: str | None = None, policy_type: str | None = None, *, cluster: str | None = None,
        broker: str | None = None,
    ) -> list[str]:  # fmt: skip
        """What user `name` has on `resource`, or all of its policies."""
        header = headers.DeleteAclRequestHeader(subject=f"User:{name}", policy_type=policy_type, resource=resource)
        return await self._tell(cluster, broker, RequestCode.AUTH_DELETE_ACL, header)

    # -- inside -------------------------------------------------------------------------------------------------------

    async def _one(self, broker: str | None) -> str:
        """The broker that is asked: accounts are the same on all, unless somebody made them otherwise."""
        targets = await self._targets(None, broker)
        return next(iter(targets.values()))

    async def _targets(self, cluster: str | None, broker: str | None) -> Mapping[str, str]:
        one_target(cluster, broker)
        return {broker: broker} if broker and ":" in broker else await self._core.masters(cluster, broker)

    async def _tell(
        self, cluster: str | None, broker: str | None, code: int, header: object, body: bytes = b""
    ) -> list[str]:
        targets = await self._targets(cluster, broker)
        for address in targets.values():
            await self._core.call(address, code, header, body=body)
        return list(targets)
