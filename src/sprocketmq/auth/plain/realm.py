"""The decisions of RocketMQ 4's accounts, as a guard asks for them, with the gaps of 4.9.8 closed.

There a right signature is enough for most codes: batches, lite pulls, transactions, offsets, and changing the accounts
themselves. Here every code needs what the request table says: `Pub` and `Sub` are the permissions of those names, what
only reads needs either, and what changes the broker, or is an administrator's to see, needs an admin account.
"""

from __future__ import annotations

from typing import Any

from sprocketmq.auth.authentication.session import Session
from sprocketmq.auth.authorization.policies import reads_resting
from sprocketmq.auth.authorization.request_table import Asker, Level, Row
from sprocketmq.auth.authorization.requirements import Need
from sprocketmq.auth.authorization.resources import Action, ResourceType
from sprocketmq.auth.plain.account import Permission, Rights
from sprocketmq.auth.plain.files import PlainFiles
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.names import TRACE_TOPIC

_PREFIX = "org.apache.rocketmq.acl.common.AclException: "


class PlainRealm:
    def __init__(self, files: PlainFiles, *, trusts_local: bool = False) -> None:
        self._files = files
        self._trusts_local = trusts_local

    def open(self, guard: Any, connection: Any, access_key: bytes, _request: Command) -> Session:
        host, accounts = connection.peer.host, self._files.accounts
        name = access_key.decode("utf-8", "replace")
        local = not access_key and self._trusts_local and connection.peer.is_local
        if local or any(is_white(host) for is_white in accounts.is_white):
            return Session(guard, access_key, None, None, host, may_all=True, unsigned=True)
        if not access_key:
            raise _refused("No accessKey is configured")
        rights = accounts.rights.get(name)
        if rights is None:
            raise _refused(f"No acl config for {name[:255]}")
        if rights.is_white(host):
            return Session(guard, access_key, None, rights, host, may_all=True, unsigned=True)
        return Session(guard, access_key, rights.key, rights, host, may_all=rights.may_all)

    def claimed(self, guard: Any, connection: Any, name: str) -> Session:
        rights = self._files.accounts.rights.get(name)
        if rights is None:
            raise _refused(f"No acl config for {name[:255]}" if name else "No accessKey is configured")
        return Session(guard, name.encode(), None, rights, connection.peer.host, may_all=rights.may_all)

    def wrong_signature(self, session: Session) -> RequestRefused:
        return _refused(f"Check signature failed for accessKey={session.name}")

    def check_level(self, session: Session, row: Row) -> bool:
        """What is an administrator's is asked of no permission besides."""
        admins = row.role is not Asker.EVERYONE or row.level in (Level.SUPER, Level.BROKER)
        if admins and not session.account.account.admin:
            what = f"Need admin permission for request code={int(row.code)}"
            raise _refused(f"{what}, but accessKey={session.name} is not")
        return not admins

    def check(self, session: Session, row: Row, need: Need) -> None:
        if need.type is ResourceType.CLUSTER:
            return  # a look at the broker's figures, which every account may take
        rights: Rights = session.account
        if need.name == TRACE_TOPIC and Action.PUB in need.actions:
            return
        wanted = _wanted(need.actions)
        must_be_named = reads_resting(need.type, need.name, need.actions) and need.name not in rights.named
        if must_be_named or not wanted & rights.permission(need.type, need.name):
            raise _refused(f"No default permission for {need.type.word.lower()}:{need.name[:255]}")


def _wanted(actions: tuple[Action, ...]) -> Permission:
    """Any of these is enough."""
    wanted = Permission.DENY
    if Action.PUB in actions:
        wanted |= Permission.PUB
    if Action.SUB in actions:
        wanted |= Permission.SUB
    return wanted or Permission.PUB | Permission.SUB


def _refused(text: str) -> RequestRefused:
    return RequestRefused(ResponseCode.SYSTEM_ERROR, _PREFIX + text)
