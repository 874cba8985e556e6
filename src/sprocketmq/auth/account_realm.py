"""Users and policies as a guard asks for them. The texts of refusals are RocketMQ's: tools and people know them."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Any

from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.session import Session
from sprocketmq.auth.authentication.signed_fields import SigningKey
from sprocketmq.auth.authentication.users import User
from sprocketmq.auth.authorization.policies import Acl, Verdict
from sprocketmq.auth.authorization.request_table import Level, Row
from sprocketmq.auth.authorization.requirements import Need
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command

_NO_POLICIES = Acl("")


class AccountRealm:
    """
    inner_key        the access key that brokers and nameservers use among themselves
    asks_policies    authorizationEnabled; without it every user may do all but change accounts and pose as a broker
    trusts_local     this machine needs no account: adminLocalWithoutAccount
    trusts_certificates  the name in a verified client certificate is a user's: certificateAsUser
    """

    def __init__(
        self, accounts: AccountStore, *, inner_key: str = "", asks_policies: bool = True, trusts_local: bool = False,
        trusts_certificates: bool = False,
    ) -> None:  # fmt: skip
        self._accounts = accounts
        self._inner_key = inner_key
        self._asks_policies = asks_policies
        self._trusts_local = trusts_local
        self._trusts_certificates = trusts_certificates

    def open(self, guard: Any, connection: Any, access_key: bytes, _request: Command) -> Session:
        address = java_text(connection.peer.host)
        if not access_key and self._trusts_local and connection.peer.is_local:
            return Session(guard, access_key, None, None, address, may_all=True, unsigned=True)
        by_certificate = self._trusts_certificates and not access_key and connection.certificate_name
        if not by_certificate and not access_key.strip():
            raise _refused("username cannot be null.")
        name = by_certificate or access_key.decode("utf-8", "replace")
        user = self._accounts.find(name)
        if user is None:
            raise _refused(f"User:{shown(name)} is not found.")
        if not user.is_enabled:
            raise _refused(f"User:{shown(name)} is disabled.")
        return Session(
            guard, access_key, SigningKey(user.password), user, address, name=name,
            may_all=user.is_super, strict=user.strict and not by_certificate, unsigned=bool(by_certificate),
            inner=name == self._inner_key,
        )  # fmt: skip

    def claimed(self, guard: Any, connection: Any, name: str) -> Session:
        """The session of a request whose signature nobody asks for."""
        user = self._accounts.find(name)
        if not name:
            raise _refused("Authorization failed. Please verify your access rights and try again.")
        if user is None:
            raise _refused(f"User:{shown(name)} not found.")
        return Session(guard, name.encode(), None, user, java_text(connection.peer.host), may_all=user.is_super)

    def wrong_signature(self, _session: Session) -> RequestRefused:
        return _refused("check signature failed.")

    def check_level(self, session: Session, row: Row) -> bool:
        """RequestRefused when the user is not what it takes; True when its policies are to be asked as well."""
        if row.level is Level.SUPER or (row.level is Level.BROKER and not session.inner):
            who = "a super user" if row.level is Level.SUPER else "the inner user of brokers"
            raise _refused(f"User:{shown(session.name)} has no permission for {row.code.name}, it takes {who}.")
        return self._asks_policies

    def check(self, session: Session, _row: Row, need: Need) -> None:
        if self._asks_policies:
            verdict = self.verdict(session.account, need, session.address)
            if not verdict.allowed:
                who = f"User:{shown(session.name)} has no permission to access {shown(str(need))}"
                raise _refused(f"{who} from {session.address}, {verdict.reason}.")

    def verdict(self, user: User, need: Need, address: str) -> Verdict:
        acl = self._accounts.acl_of(user.name) or _NO_POLICIES
        return acl.decide(need.type, need.name, need.actions, address)


def java_text(host: str) -> str:
    """An address as RocketMQ shows a peer's: IPv6 in full and in brackets."""
    address = ip_address(host)
    if not isinstance(address, IPv6Address):
        return host
    return f"[{':'.join(f'{int(part, 16):x}' for part in address.exploded.split(':'))}]"


def shown(text: str) -> str:
    """What a peer wrote, in a remark of bounded length."""
    return text if len(text) <= 255 else text[:252] + "..."


def _refused(text: str) -> RequestRefused:
    return RequestRefused(ResponseCode.NO_PERMISSION, text)
