"""What the audit shows of accounts and of settings before and after a change; never a secret.

Of a secret it shows a mark, so that one can see that it is another one: a few digits that a key of this process has
made of it, which nobody knows and which ends with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from hmac import digest
from secrets import token_bytes

import orjson

from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.audit.trail import Look
from sprocketmq.auth.bodies import HIDDEN, acl_info, subject_name, user_info
from sprocketmq.auth.plain.files import PlainFiles
from sprocketmq.codes import RequestCode as C
from sprocketmq.properties_file import parse_properties
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.acl import AclInfo
from sprocketmq.protocol.command import Command

_KEY = token_bytes(32)


def _marked(secret: str) -> str:
    return f"{HIDDEN} {digest(_KEY, secret.encode('utf-8', 'surrogatepass'), 'sha256').hex()[:6]}"


def account_looks(accounts: AccountStore) -> dict[int, Look]:
    def user(request: Command) -> str:
        found = accounts.find((request.ext_fields or {}).get("username", ""))
        if found is None:
            return ""
        return codec.encode(replace(user_info(found, with_password=False), password=_marked(found.password))).decode()

    def acl(request: Command) -> str:
        subject = (request.ext_fields or {}).get("subject")
        if request.body:
            subject = codec.decode(AclInfo, request.body).subject or subject
        found = accounts.acl_of(subject_name(subject) or "")
        return "" if found is None else codec.encode(acl_info(found)).decode()

    users = (C.AUTH_CREATE_USER, C.AUTH_UPDATE_USER, C.AUTH_DELETE_USER)
    acls = (C.AUTH_CREATE_ACL, C.AUTH_UPDATE_ACL, C.AUTH_DELETE_ACL)
    return {**dict.fromkeys(map(int, users), user), **dict.fromkeys(map(int, acls), acl)}


def plain_looks(files: PlainFiles) -> dict[int, Look]:
    """Of RocketMQ 4's accounts."""

    def account(request: Command) -> str:
        found = files.accounts.rights.get((request.ext_fields or {}).get("accessKey", ""))
        if found is None:
            return ""
        return orjson.dumps({**asdict(found.account), "secret_key": _marked(found.account.secret_key)}).decode()

    def white(_request: Command) -> str:
        return ",".join(files.accounts.white)

    return {
        C.UPDATE_AND_CREATE_ACL_CONFIG: account,
        C.DELETE_ACL_CONFIG: account,
        C.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: white,
    }


def settings_look(entries: Callable[[], Mapping[str, str]]) -> Look:
    """Of the settings that a request names in its body; `entries` are all of a server, without secrets."""

    def named(request: Command) -> str:
        found = entries()
        return " ".join(f"{key}={found.get(key, '')}" for key in parse_properties(bytes(request.body).decode()))

    return named
