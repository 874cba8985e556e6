# cython: annotation_typing=False
"""Stands before every handler of a server with accounts: who is it, is it signed, and may it?

    fields -> session (found, or opened) -> signature -> replay? -> level -> decision (kept, or asked)

The requests of one read come this way together as far as they can: what is done sixty times in a row costs two thirds
of what it costs between handlers. Each is asked about again when its turn comes, which then is little.

What is the same for many requests is asked once: who an access key is, once for a connection; whether it may do a
thing, once for the fields that the answer rests on. Both are forgotten when anything changes. The signature is checked
for every request.

What a body names is asked in steps, for it may name much; a long one is hashed in steps (remoting/turns.py).

Every request passes here, so this is compiled. The questions themselves are asked of a `Realm`, which is Python.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sprocketmq.auth.authentication.replays import check_code
from sprocketmq.auth.authentication.session import Session
from sprocketmq.auth.authentication.signed_fields import PIECE, SignedFields
from sprocketmq.auth.authorization.request_table import REQUESTS, Level, Row
from sprocketmq.auth.authorization.requirements import needs_of, stored_need
from sprocketmq.codes import FLAG_RESPONSE, ResponseCode
from sprocketmq.errors import BodyError, CommandError, RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.remoting.handlers import Authority, Checks
from sprocketmq.remoting.traffic import Traffic

_RESPONSE = int(FLAG_RESPONSE)
#: Needs between two looks at the clock.
_PIECE = 8
#: A longer body is hashed when its turn comes: whoever stores it then finds it in the processor's nearest cache.
_SHORT_BODY = 1024


class Guard(Authority):
    """`realm` answers the questions. `hold_back` may take over a refusal, to answer it later: then it says True.
    `check_replay` raises for a request of a strict user that is old, or has been here before.

    `no_signature` and `no_decision` are the white lists of codes: what they name is not authenticated, or not asked of
    the policies.
    """

    def __init__(
        self, realm: Any, cluster: str, *, no_signature: Collection[int] = (), no_decision: Collection[int] = (),
        hold_back: Callable[[Any, Command, RequestRefused], bool] | None = None,
        check_replay: Callable[[Session, Command], None] | None = None,
    ) -> None:  # fmt: skip
        self.realm = realm
        self.cluster = cluster
        self.generation = 0
        self._no_signature = frozenset(no_signature)
        self._no_decision = frozenset(no_decision)
        self._hold_back = hold_back
        self._check_replay = check_replay
        self._deciding = {
            code: [field.encode() for field in row.fields] for code, row in REQUESTS.items() if not row.body
        }
        self._found = SignedFields(self._deciding)

    def forget(self) -> None:
        """Have everybody asked anew: an account or a policy has changed."""
        self.generation += 1

    def check(self, connection: Traffic, request: Command) -> bool | Checks:
        """True when the request may go on. RequestRefused when not; False when that is answered later.

        A long body, and one that names what the request is about, gives steps that find out.
        """
        if self._no_signature and request.code in self._no_signature:
            return self.check_claimed(connection, request)
        cleared = request.cleared_by
        if cleared is not None and cleared.generation == self.generation:
            return self.enter(connection, cleared, request)
        if len(request.body) > PIECE:
            return self.check_long(connection, request)
        found = self._found
        try:
            session = self.identify(found, connection, request)
            if not session.unsigned and (session.key is None or not found.is_signed_with(session.key)):
                raise self.realm.wrong_signature(session)
        except (CommandError, RequestRefused) as error:
            return self.refuse(connection, request, error)
        return self.admit(found, connection, session, request)

    def look_ahead(self, connection: Traffic, requests: list[Command]) -> None:
        """Clear those that are rightly signed, by who is known here already, and ask for what it was allowed before."""
        traffic = connection
        session: Session | None = traffic.session
        if session is None or session.generation != self.generation:
            return
        for command in requests:
            if command.cleared_by is not None:
                return  # they wait for their turns, and were looked at when they came
            if command.flag & _RESPONSE or len(command.body) > _SHORT_BODY:
                continue
            if not self.is_clear(session, command):
                return  # once is enough to find out who else it is, or what is wrong
            command.cleared_by = session

    def is_clear(self, session: Session, request: Command) -> bool:
        found = self._found
        try:
            found.read(request)
        except CommandError:
            return False
        if not found.is_from(session.access_key) or not (session.may_all or self.has_decided(found, session)):
            return False
        return session.key is not None and found.is_signed_with(session.key)

    def check_long(self, connection: Traffic, request: Command) -> Checks:
        """The same for a body that takes long to hash; others are read meanwhile, so its fields have a place apart."""
        found = SignedFields(self._deciding, shapes=1)
        try:
            session = self.identify(found, connection, request)
            if not session.unsigned:
                is_right = session.key is not None and (yield from found.is_signed_in_turns(session.key))
                if not is_right:
                    raise self.realm.wrong_signature(session)
            session = self.session_of(found, connection, request)
        except (CommandError, RequestRefused) as error:
            return self.refuse(connection, request, error)
        may = self.admit(found, connection, session, request)
        return may if isinstance(may, bool) else (yield from may)

    def identify(self, found: SignedFields, connection: Traffic, request: Command) -> Session:
        found.read(request)
        return self.session_of(found, connection, request)

    def session_of(self, found: SignedFields, connection: Traffic, request: Command) -> Session:
        session: Session = connection.session
        if session is not None and session.generation == self.generation and found.is_from(session.access_key):
            return session
        opened: Session = self.realm.open(self, connection, found.access_key, request)
        return opened

    def admit(self, found: SignedFields, connection: Traffic, session: Session, request: Command) -> bool | Checks:
        """What is rightly signed: is it new, and may it?"""
        self.enter(connection, session, request)
        if session.may_all or self.has_decided(found, session):
            return True
        return self.decide(found, session, request)

    def enter(self, connection: Traffic, session: Session, request: Command) -> bool:
        """It is the request at hand now. True, but RequestRefused when it has been here before."""
        connection.session = session
        if session.strict and self._check_replay is not None:
            self._check_replay(session, request)
        elif session.inner:
            check_code(request)
        return True

    def has_decided(self, found: SignedFields, session: Session) -> bool:
        """Whether it was allowed the same before."""
        if found.has_deciding_values(session.last):
            return True
        return found.is_decided_by_fields() and session.has(found.deciding_values())

    def refuse(self, connection: Any, request: Command, error: Exception) -> bool:
        connection.session = None
        refused = error if isinstance(error, RequestRefused) else RequestRefused(ResponseCode.NO_PERMISSION, str(error))
        if self._hold_back is not None and self._hold_back(connection, request, refused):
            return False
        raise refused

    def check_claimed(self, connection: Any, request: Command) -> bool | Checks:
        """A code that needs no signature: the access key is believed, for this request."""
        connection.session = None
        if request.code in self._no_decision:
            connection.session = Session(self, b"", None, None, "", may_all=True).for_one_request()
            return True
        session: Session = self.realm.claimed(self, connection, (request.ext_fields or {}).get("AccessKey", ""))
        connection.session = session.for_one_request()  # handlers ask for the topic that they find
        return session.may_all or self.ask(session, request)

    def decide(self, found: SignedFields, session: Session, request: Command) -> bool | Checks:
        if self._no_decision and request.code in self._no_decision:
            return True
        if not found.is_decided_by_fields():
            return self.ask(session, request)
        self.ask(session, request)
        session.keep(found.deciding_values())
        return True

    def ask(self, session: Session, request: Command) -> bool | Checks:
        """RequestRefused when it may not. A code that nobody may ask has no handler: that is what it is told."""
        row = REQUESTS.get(request.code)
        if row is None or row.level is Level.NOBODY or not self.realm.check_level(session, row):
            return True
        if row.body:
            return self.check_needs(session, row, request)
        for _ in self.check_needs(session, row, request):
            pass  # a few fields: no turns are taken
        return True

    def check_needs(self, session: Session, row: Row, request: Command) -> Checks:
        try:
            for number, need in enumerate(needs_of(row, request.ext_fields or {}, request.body, self.cluster), 1):
                if need is not None:
                    self.realm.check(session, row, need)
                if need is None or number % _PIECE == 0:
                    yield
        except BodyError:
            raise RequestRefused(ResponseCode.NO_PERMISSION, "parse authorization context error.") from None
        return True

    def may_still(self, session: Session | None, code: int, topic: str) -> bool:
        """Whether whoever spoke last on a connection may ask `code` about a topic. Of a session that is old nobody
        knows: it counts again when its peer has spoken.
        """
        if session is None or session.generation != self.generation:
            return False
        try:
            self.check_stored(session, code, topic)
        except RequestRefused:
            return False
        return True

    def check_stored(self, session: Session, code: int, topic: str) -> None:
        if not session.may_all and code not in self._no_decision:
            row = REQUESTS[code]
            self.realm.check(session, row, stored_need(row, topic))


def check_stored(connection: Any, request: Command, topic: str) -> None:
    """For handlers that learn only from a stored record which topic a request is about: RequestRefused when its sender
    may not. To be called in the handler's first turn of the loop: `session` is that of the request at hand.
    """
    session = connection.session
    if session is not None:
        session.guard.check_stored(session, request.code, topic)
