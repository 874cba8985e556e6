"""What the audit shows of users and policies before and after a change; never a secret."""

from __future__ import annotations

from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.audit.trail import Look
from sprocketmq.auth.bodies import acl_info, subject_name, user_info
from sprocketmq.codes import RequestCode as C
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.acl import AclInfo
from sprocketmq.protocol.command import Command


def account_looks(accounts: AccountStore) -> dict[int, Look]:
    def user(request: Command) -> str:
        found = accounts.find((request.ext_fields or {}).get("username", ""))
        return "" if found is None else codec.encode(user_info(found, with_password=False)).decode()

    def acl(request: Command) -> str:
        subject = (request.ext_fields or {}).get("subject")
        if request.body:
            subject = codec.decode(AclInfo, request.body).subject or subject
        found = accounts.acl_of(subject_name(subject) or "")
        return "" if found is None else codec.encode(acl_info(found)).decode()

    users = (C.AUTH_CREATE_USER, C.AUTH_UPDATE_USER, C.AUTH_DELETE_USER)
    acls = (C.AUTH_CREATE_ACL, C.AUTH_UPDATE_ACL, C.AUTH_DELETE_ACL)
    return {**dict.fromkeys(map(int, users), user), **dict.fromkeys(map(int, acls), acl)}
