"""Users and policies on disk: `users.json` and `acls.json`, readable by their owner alone.

    {"dataVersion": {"counter": 3, "timestamp": 1700000000000}, "table": {key: value}}

Key and value are those that RocketMQ keeps in RocksDB (key `NAME` and `User:NAME`; enums as numbers, nulls left out).
`strict` of a user is ours. A change is on disk before it is answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from sprocketmq.atomic_file import LocalFiles, replace_file
from sprocketmq.auth.authentication.users import User, UserStatus, UserType
from sprocketmq.auth.authorization.policies import Acl, Policy, PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import Action, Decision, Pattern, Resource, ResourceType
from sprocketmq.errors import StoreCorrupt
from sprocketmq.logs import Events

events = Events("sprocketmq.auth.files")

_OWNER_ONLY = 0o600
_USER = 1  # the only type of a subject


class AccountFiles:
    """The two files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.users_path = folder / "users.json"
        self.acls_path = folder / "acls.json"
        self._files = LocalFiles(_OWNER_ONLY)
        self._counters = {self.users_path: 0, self.acls_path: 0}

    def load(self) -> tuple[dict[str, User], dict[str, Acl]]:
        """StoreCorrupt names a file that cannot be read, and where."""
        users = self._read(self.users_path, user_from)
        acls = self._read(self.acls_path, acl_from)
        return {user.name: user for user in users}, {acl.username: acl for acl in acls}

    def save_users(self, users: Iterable[User], now_ms: int) -> None:
        self._write(self.users_path, {user.name: user_tree(user) for user in users}, now_ms)

    def save_acls(self, acls: Iterable[Acl], now_ms: int) -> None:
        self._write(self.acls_path, {f"User:{acl.username}": acl_tree(acl) for acl in acls}, now_ms)

    def _read(self, path: Path, read: Any) -> list[Any]:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return []
        if path.stat().st_mode & 0o077:
            events.warning("file of accounts was readable by others", path=path)
            path.chmod(_OWNER_ONLY)
        try:
            tree = orjson.loads(data)
            self._counters[path] = int(tree["dataVersion"]["counter"])
            return [read(value) for value in tree["table"].values()]
        except orjson.JSONDecodeError as error:
            raise StoreCorrupt(path, error.pos, f"not JSON: {error.msg}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # The value is not told: it may hold a secret.
            raise StoreCorrupt(path, 0, f"not a table of accounts: {type(error).__name__}") from None

    def _write(self, path: Path, table: dict[str, Any], now_ms: int) -> None:
        self._counters[path] += 1
        version = {"counter": self._counters[path], "timestamp": now_ms}
        tree = {"dataVersion": version, "table": dict(sorted(table.items()))}
        replace_file(path, orjson.dumps(tree, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS), self._files)


def user_tree(user: User) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "password": user.password,
        "subjectType": _USER,
        "userStatus": int(user.status),
        "userType": int(user.type),
        "username": user.name,
    }
    return {**tree, "strict": True} if user.strict else tree


def user_from(tree: dict[str, Any]) -> User:
    name, password = tree["username"], tree["password"]
    if not isinstance(name, str) or not isinstance(password, str):
        raise TypeError("username and password are texts")
    return User(name, password, UserType(tree["userType"]), UserStatus(tree["userStatus"]), bool(tree.get("strict")))


def acl_tree(acl: Acl) -> dict[str, Any]:
    policies = [
        {"entries": [_entry_tree(entry) for entry in policy.entries], "policyType": int(type_)}
        for type_, policy in acl.policies.items()
    ]
    return {"policies": policies, "subject": {"subjectType": _USER, "username": acl.username}}


def acl_from(tree: dict[str, Any]) -> Acl:
    policies = {
        PolicyType(policy["policyType"]): Policy(_entry_from(entry) for entry in policy["entries"])
        for policy in tree["policies"]
    }
    return Acl(tree["subject"]["username"], policies)


def _entry_tree(entry: PolicyEntry) -> dict[str, Any]:
    resource: dict[str, Any] = {} if entry.resource.name is None else {"resourceName": entry.resource.name}
    resource |= {"resourcePattern": int(entry.resource.pattern), "resourceType": int(entry.resource.type)}
    return {
        "actions": [int(action) for action in entry.actions],
        "decision": int(entry.decision),
        "environment": {"sourceIps": list(entry.source_ips)} if entry.source_ips else {},
        "resource": resource,
    }


def _entry_from(tree: dict[str, Any]) -> PolicyEntry:
    named = tree["resource"]
    resource = Resource(
        ResourceType(named["resourceType"]), Pattern(named["resourcePattern"]), named.get("resourceName")
    )
    source_ips = tuple((tree.get("environment") or {}).get("sourceIps") or ())
    return PolicyEntry(resource, tuple(Action(a) for a in tree["actions"]), Decision(tree["decision"]), source_ips)
