"""3001 to 3010: users and policies over the wire, as mqadmin and the dashboard ask for them.

A secret is shown to whoever may ask for users (super users alone), and only over a connection that nobody can listen
to: TLS, or this machine. Elsewhere it is `***`, and a copy of the user to another broker needs one of those.
"""

from __future__ import annotations

import orjson

from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.users import UserStatus, UserType
from sprocketmq.auth.authorization.policies import PolicyType
from sprocketmq.auth.authorization.resources import by_word, parse_resource
from sprocketmq.auth.bodies import HIDDEN, acl_info, policies_of, subject_name, user_info
from sprocketmq.codes import RequestCode as C
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.acl import AclInfo, UserInfo
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields
from sprocketmq.protocol.headers.acl import (
    CreateAclRequestHeader,
    CreateUserRequestHeader,
    DeleteAclRequestHeader,
    DeleteUserRequestHeader,
    GetAclRequestHeader,
    ListAclsRequestHeader,
    ListUsersRequestHeader,
)
from sprocketmq.remoting import Connection, ProcessorTable, Reply


class AccountHandlers:
    def __init__(self, accounts: AccountStore) -> None:
        self._accounts = accounts

    def add_to(self, table: ProcessorTable) -> None:
        table.add_slow(C.AUTH_CREATE_USER, self.create_user)
        table.add_slow(C.AUTH_UPDATE_USER, self.update_user)
        table.add_slow(C.AUTH_DELETE_USER, self.delete_user)
        table.add(C.AUTH_GET_USER, self.get_user)
        table.add(C.AUTH_LIST_USER, self.list_users)
        table.add_slow((C.AUTH_CREATE_ACL, C.AUTH_UPDATE_ACL), self.put_acl)
        table.add_slow(C.AUTH_DELETE_ACL, self.delete_acl)
        table.add(C.AUTH_GET_ACL, self.get_acl)
        table.add(C.AUTH_LIST_ACL, self.list_acls)

    # -- users --------------------------------------------------------------------------------------------------------

    async def create_user(self, _connection: Connection, request: Command) -> Reply:
        name, info = _name(request), codec.decode(UserInfo, request.body)
        if info.password == HIDDEN:
            raise RequestRefused(ResponseCode.INVALID_PARAMETER, "*** is no password: the other broker did not show it")
        type_, status = by_word(UserType, info.user_type), by_word(UserStatus, info.user_status)
        await self._accounts.change(
            lambda accounts: accounts.create_user(name, info.password, type_, status, strict=bool(info.strict))
        )
        return request.reply()

    async def update_user(self, _connection: Connection, request: Command) -> Reply:
        name, info = _name(request), codec.decode(UserInfo, request.body)
        password = None if info.password == HIDDEN else info.password
        type_, status = by_word(UserType, info.user_type), by_word(UserStatus, info.user_status)
        await self._accounts.change(
            lambda accounts: accounts.update_user(name, password, type_, status, strict=info.strict)
        )
        return request.reply()

    async def delete_user(self, _connection: Connection, request: Command) -> Reply:
        name = from_ext_fields(DeleteUserRequestHeader, request.ext_fields).username
        await self._accounts.change(lambda accounts: accounts.delete_user(name))
        return request.reply()

    def get_user(self, connection: Connection, request: Command) -> Reply:
        user = self._accounts.get_user(_name(request, may_be_blank=False))
        if user is None:
            return request.reply()
        return request.reply(body=codec.encode(user_info(user, with_password=is_private(connection))))

    def list_users(self, connection: Connection, request: Command) -> Reply:
        part = from_ext_fields(ListUsersRequestHeader, request.ext_fields).filter
        shown = is_private(connection)
        trees = [codec.to_tree(user_info(u, with_password=shown)) for u in self._accounts.list_users(part)]
        return request.reply(body=orjson.dumps(trees) if trees else b"")

    # -- policies -----------------------------------------------------------------------------------------------------

    async def put_acl(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(CreateAclRequestHeader, request.ext_fields)
        info = codec.decode(AclInfo, request.body)
        if not info.policies:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "The body of acl is null")
        own = subject_name(info.subject)
        name = _subject(header.subject, ResponseCode.SYSTEM_ERROR) if own is None else own
        policies = policies_of(info)
        await self._accounts.change(lambda accounts: accounts.put_acl(name, policies))
        return request.reply()

    async def delete_acl(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(DeleteAclRequestHeader, request.ext_fields)
        name = _subject(header.subject, ResponseCode.NO_PERMISSION)
        resource = parse_resource(header.resource)
        if header.resource and header.resource.strip() and resource is None:
            raise RequestRefused(ResponseCode.NO_PERMISSION, "The resource is null.")
        type_ = by_word(PolicyType, header.policy_type)
        await self._accounts.change(lambda accounts: accounts.delete_acl(name, type_, resource))
        return request.reply()

    def get_acl(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(GetAclRequestHeader, request.ext_fields)
        name = _subject(header.subject, ResponseCode.SYSTEM_ERROR)
        acl = self._accounts.get_acl(name)
        return request.reply(body=b"" if acl is None else codec.encode(acl_info(acl)))

    def list_acls(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(ListAclsRequestHeader, request.ext_fields)
        acls = self._accounts.list_acls(header.subject_filter, header.resource_filter)
        trees = [codec.to_tree(acl_info(acl)) for acl in acls]
        return request.reply(body=orjson.dumps(trees) if trees else b"")


def is_private(connection: Connection) -> bool:
    """Whether nobody can listen to what is said on this connection."""
    return connection.peer.is_local or connection.is_encrypted


def _name(request: Command, *, may_be_blank: bool = True) -> str:
    """A blank name that may be one here is refused in other words, by the accounts."""
    name = from_ext_fields(CreateUserRequestHeader, request.ext_fields).username
    if not name or not (may_be_blank or name.strip()):
        raise RequestRefused(ResponseCode.INVALID_PARAMETER, "The username is blank")
    return name


def _subject(subject: str | None, code: ResponseCode) -> str:
    """`code` is RocketMQ's answer to a subject that is no user: in most places it stumbles over one."""
    name = subject_name(subject)
    if name is None:
        raise RequestRefused(code, "The subject is null.")
    return name
