"""Users and their policies in one place, and RocketMQ's rules for changing them.

What may not be is a RequestRefused with RocketMQ's own text, for tools show it. Every change is on disk before it is
seen, and `on_change` is told: whoever keeps a decision forgets it then. A server makes its changes by `change`, so that
nobody else waits for the disk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from sprocketmq.auth.account_files import AccountFiles
from sprocketmq.auth.authentication.users import User, UserStatus, UserType
from sprocketmq.auth.authorization import addresses
from sprocketmq.auth.authorization.policies import Acl, PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import Action, Decision, Resource
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused

T = TypeVar("T")
V = TypeVar("V")

#: What RocketMQ limits nowhere. A name goes into answers and log lines, so it has an end here.
MAX_NAME_LENGTH = 255


class AccountStore:
    """`files` is None for accounts that live in memory alone."""

    def __init__(self, files: AccountFiles | None = None, now_ms: Callable[[], int] | None = None) -> None:
        self.on_change: list[Callable[[], object]] = []
        self._files = files
        self._now_ms = now_ms or (lambda: int(time.time() * 1000))
        self._users: dict[str, User] = {}
        self._acls: dict[str, Acl] = {}
        self._changing = asyncio.Lock()

    def load(self) -> None:
        if self._files is not None:
            self._users, self._acls = self._files.load()

    async def change(self, make: Callable[[AccountStore], T]) -> T:
        """What `make` does to the accounts it is given, on a thread of its own; one change after the other."""
        async with self._changing:
            draft = AccountStore(self._files, self._now_ms)
            draft._users, draft._acls = self._users, self._acls
            try:
                return await asyncio.to_thread(make, draft)
            finally:  # what is on disk is seen, also where only a part of it is
                self._take(draft)

    # -- users --------------------------------------------------------------------------------------------------------

    def find(self, name: str) -> User | None:
        return self._users.get(name)

    def get_user(self, name: str | None) -> User | None:
        return self.find(_named(name))

    def list_users(self, part: str | None = None) -> list[User]:
        """Those whose name contains `part`, in the order of their bytes; a blank part leaves out nobody."""
        return [self._users[name] for name in sorted(self._users, key=str.encode) if _contains(name, part)]

    def create_user(
        self, name: str | None, password: str | None, type_: UserType | None = None, status: UserStatus | None = None,
        *, strict: bool = False,
    ) -> User:  # fmt: skip
        name = _named(name)
        if not password or not password.strip():
            raise _refused("password can not be blank")
        if name in self._users:
            raise _refused("The user is existed")
        user = User(name, password, type_ or UserType.NORMAL, status or UserStatus.ENABLE, strict)
        self._keep_users({**self._users, name: user})
        return user

    def update_user(
        self, name: str | None, password: str | None = None, type_: UserType | None = None,
        status: UserStatus | None = None, *, strict: bool | None = None,
    ) -> User:  # fmt: skip
        """What is not given stays as it is."""
        old = self._users.get(_named(name))
        if old is None:
            raise _refused("The user is not exist")
        user = replace(
            old,
            password=password if password and password.strip() else old.password,
            type=type_ or old.type,
            status=status or old.status,
            strict=old.strict if strict is None else strict,
        )
        self._keep_users({**self._users, user.name: user})
        return user

    def delete_user(self, name: str | None) -> User | None:
        """The user with its policies; None when there was none, which is no error."""
        gone = self._users.get(_named(name))
        if gone is not None:
            if gone.name in self._acls:
                self._keep_acls(_without(self._acls, gone.name))
            self._keep_users(_without(self._users, gone.name))
        return gone

    # -- policies -----------------------------------------------------------------------------------------------------

    def acl_of(self, name: str) -> Acl | None:
        return self._acls.get(name)

    def get_acl(self, name: str) -> Acl | None:
        if name not in self._users:
            raise _refused("The subject is not exist.")
        return self._acls.get(name)

    def put_acl(self, name: str, policies: Mapping[PolicyType, Iterable[PolicyEntry]]) -> Acl:
        """Create and update are one: an entry for a resource that has one takes its place."""
        check_policies(policies)
        if name not in self._users:
            raise _refused(f"The subject of User:{name} is not exist.")
        acl = self._acls.get(name) or Acl(name)
        for type_, entries in policies.items():
            acl = acl.with_entries(type_, entries)
        self._keep_acls({**self._acls, name: acl})
        return acl

    def delete_acl(self, name: str, type_: PolicyType | None = None, resource: Resource | None = None) -> Acl | None:
        """Without a resource all policies of the user. What is left."""
        if name not in self._users:
            raise _refused("The subject is not exist.")
        acl = self._acls.get(name)
        if acl is None:
            raise _refused("The acl is not exist.")
        left = acl.without(type_ or PolicyType.CUSTOM, resource) if resource is not None else Acl(name)
        if left.policies:
            self._keep_acls({**self._acls, name: left})
            return left
        self._keep_acls(_without(self._acls, name))
        return None

    def list_acls(self, subject_part: str | None = None, resource_part: str | None = None) -> list[Acl]:
        """Those whose subject contains the one, with the entries whose resource contains the other. A subject that
        contains the resource's part itself is shown whole: so is it in RocketMQ.
        """
        names = [name for name in sorted(self._acls, key=str.encode) if _contains(f"User:{name}", subject_part)]
        acls = [_narrowed(self._acls[name], resource_part) for name in names]
        return [acl for acl in acls if acl.policies]

    # -- inside -------------------------------------------------------------------------------------------------------

    def _keep_users(self, users: dict[str, User]) -> None:
        if self._files is not None:
            self._files.save_users(users.values(), self._now_ms())
        self._users = users
        self._changed()

    def _keep_acls(self, acls: dict[str, Acl]) -> None:
        if self._files is not None:
            self._files.save_acls(acls.values(), self._now_ms())
        self._acls = acls
        self._changed()

    def _take(self, draft: AccountStore) -> None:
        if (draft._users, draft._acls) != (self._users, self._acls):
            self._users, self._acls = draft._users, draft._acls
            self._changed()

    def _changed(self) -> None:
        for hook in self.on_change:
            hook()


def check_policies(policies: Mapping[PolicyType, Iterable[PolicyEntry]]) -> None:
    entries = [entry for each in policies.values() for entry in each]
    if not entries:
        raise _refused("The policies is empty.")
    for entry in entries:
        fault = entry_fault(entry.resource, entry.actions, entry.source_ips, entry.decision)
        if fault is not None:
            raise _refused(fault)


def entry_fault(
    resource: Resource | None, actions: tuple[Action, ...], source_ips: tuple[str, ...], decision: Decision | None
) -> str | None:
    """What RocketMQ says of an entry that cannot be; None when it can."""
    if resource is None:
        return "The resource is null."
    if not actions:
        return "The actions is empty."
    if Action.ANY in actions:
        return "The actions can not be Any."
    if any(not pattern.strip() for pattern in source_ips):
        return "The source ip is empty."
    if not all(map(addresses.is_valid, source_ips)):
        return "The source ip is invalid."
    return "The decision is null or illegal." if decision is None else None


def _named(name: str | None) -> str:
    if not name or not name.strip():
        raise _refused("username can not be blank")
    if len(name) > MAX_NAME_LENGTH:
        raise _refused(f"username can not be longer than {MAX_NAME_LENGTH}")
    return name


def _without(table: Mapping[str, V], name: str) -> dict[str, V]:
    return {key: value for key, value in table.items() if key != name}


def _contains(text: str, part: str | None) -> bool:
    return not part or not part.strip() or part in text


def _narrowed(acl: Acl, part: str | None) -> Acl:
    if _contains(f"User:{acl.username}", part):
        return acl
    narrowed = Acl(acl.username)
    for type_, policy in acl.policies.items():
        entries = [entry for entry in policy.entries if _contains(str(entry.resource), part)]
        if entries:
            narrowed = narrowed.with_entries(type_, entries)
    return narrowed


def _refused(text: str) -> RequestRefused:
    return RequestRefused(ResponseCode.NO_PERMISSION, text)
