# cython: annotation_typing=False
"""Who is at the other end of a connection, by one access key, and what it has been allowed so far.

A session is made when a connection first names its key, and holds until an account or a policy changes: every change
makes all sessions of the server old (see `guard`), and with them all that they were allowed.
"""

from __future__ import annotations

from typing import Any

from sprocketmq.auth.authentication.signed_fields import SigningKey

#: So many different things one connection is remembered to have been allowed; then it is asked anew.
MAX_ALLOWED = 10_000
#: The generation of a session that is believed for one request: it is older than every other.
_ONE_REQUEST = -1


class Session:
    """
    guard        the server's, whose `generation` it belongs to
    access_key   as it stands in requests
    key          what its signatures are checked with
    account      the user or the account behind it, as its realm has it
    name         whom the audit and refusals speak of, where that is not the access key: the user of a certificate
    address      the peer's, as policies and remarks speak of it
    may_all      no policy is asked: a super user, or an account that the realm lets do everything
    unsigned     its requests need no signature: a white list names its address
    strict       its requests must carry a signed time, number and code
    inner        it is the account that brokers and nameservers use among themselves
    """

    def __init__(
        self, guard: Any, access_key: bytes, key: SigningKey | None, account: Any, address: str, *,
        name: str = "", may_all: bool = False, unsigned: bool = False, strict: bool = False, inner: bool = False,
    ) -> None:  # fmt: skip
        self.guard = guard
        self.access_key = access_key
        self.key = key
        self.account = account
        self.name = name or access_key.decode("utf-8", "replace")
        self.address = address
        self.generation: int = guard.generation
        self.may_all = may_all
        self.unsigned = unsigned
        self.strict = strict
        self.inner = inner
        #: What it was allowed last, which is most often what it asks for next.
        self.last = b""
        self._allowed: set[bytes] = set()

    def for_one_request(self) -> Session:
        """Nobody has proved who it is: the next request finds out anew."""
        self.generation = _ONE_REQUEST
        return self

    @property
    def is_proven(self) -> bool:
        """By a signature, a certificate or its address, and not by a name alone."""
        return self.generation != _ONE_REQUEST

    def has(self, what: bytes) -> bool:
        if what not in self._allowed:
            return False
        self.last = what
        return True

    def keep(self, what: bytes) -> None:
        if len(self._allowed) >= MAX_ALLOWED:
            self._allowed.clear()
        self._allowed.add(what)
        self.last = what
