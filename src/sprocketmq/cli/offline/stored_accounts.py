"""Accounts in the files of a server that does not run, with the methods that the admin client has for one that does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sprocketmq.auth.account_files import AccountFiles
from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.users import UserStatus, UserType
from sprocketmq.auth.authorization.policies import PolicyType
from sprocketmq.auth.authorization.resources import by_word, parse_resource
from sprocketmq.auth.bodies import acl_info, policies_of, subject_name, user_info
from sprocketmq.protocol.bodies.acl import AclInfo, UserInfo
from sprocketmq.store.files.lock import StoreLock


class StoredAccounts:
    """`folder` holds users.json and acls.json."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._accounts = AccountStore(AccountFiles(folder))
        self._accounts.load()

    async def users(self, part: str | None = None) -> list[UserInfo]:
        return [user_info(user, with_password=False) for user in self._accounts.list_users(part)]

    async def add_user(self, user: UserInfo) -> list[str]:
        self._accounts.create_user(
            user.username, user.password, by_word(UserType, user.user_type), by_word(UserStatus, user.user_status),
            strict=bool(user.strict),
        )  # fmt: skip
        return [self.name]

    async def change_user(self, user: UserInfo) -> list[str]:
        self._accounts.update_user(
            user.username, user.password, by_word(UserType, user.user_type), by_word(UserStatus, user.user_status),
            strict=user.strict,
        )  # fmt: skip
        return [self.name]

    async def remove_user(self, name: str) -> list[str]:
        self._accounts.delete_user(name)
        return [self.name]

    async def acls(self, subject: str | None = None, resource: str | None = None) -> list[AclInfo]:
        return [acl_info(acl) for acl in self._accounts.list_acls(subject, resource)]

    async def put_acl(self, acl: AclInfo) -> list[str]:
        self._accounts.put_acl(subject_name(acl.subject) or "", policies_of(acl))
        return [self.name]

    async def remove_acl(self, name: str, resource: str | None = None, policy_type: str | None = None) -> list[str]:
        self._accounts.delete_acl(name, by_word(PolicyType, policy_type), parse_resource(resource))
        return [self.name]


@contextmanager
def stored_accounts(store: Path) -> Iterator[StoredAccounts]:
    """Those of the broker whose store this is; StoreLocked while it runs."""
    lock = StoreLock(store / "lock")
    try:
        yield StoredAccounts(store / "config")
    finally:
        lock.release()
