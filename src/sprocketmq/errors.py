"""The exceptions of SprocketMQ.

    SprocketError
        FrameError        the bytes are not the protocol: the connection ends
        CommandError      a whole frame with wrong fields in it: answered, the connection lives
        RequestRefused    well formed, but declined: its code travels back to the peer
            TooMany       more than a limit grants: who goes on asking is slowed down
        BodyError         a message body or a JSON body that cannot be decoded within its bounds
        FilterError       a tag or SQL92 expression that does not parse
        EvaluateError     an SQL92 expression that cannot be applied to a message's properties: no match
        StoreError        the store cannot do what was asked
            StoreCorrupt  the disk disagrees with itself: path and offset are named, nothing is guessed
            StoreLocked   another broker owns the directory
            StoreFull     no space, or the disk is over its watermark
            QueueUnwritable  the files of one queue cannot be written: it waits, the others do not
            MessageIllegal  a message that no log can hold: its name, its size or its parts
            FlushFailed   a sync failed: final for the file, nothing more is acknowledged
        RemotingError     a request that got no answer; retriable
            ConnectFailed   no connection to the address
            RequestTimeout  no answer in time; the peer may still have done the work
            ConnectionLost  the connection ended before the answer came
        ConfigError       a key or value in a configuration that cannot be used
        MissingExtra      an optional package that is not installed; also an ImportError

`retriable` tells a caller whether the same request may succeed when it is sent again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class SprocketError(Exception):
    retriable = False


class FrameError(SprocketError):
    """The peer sent bytes that are not the protocol."""


class CommandError(SprocketError):
    """A frame was whole, but its header fields are missing or malformed."""


class RequestRefused(SprocketError):
    """A well-formed request that the server declines."""

    def __init__(self, code: int, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


class TooMany(RequestRefused):
    """One more than a limit grants its peer."""


class BodyError(SprocketError):
    """A body that is not what its header says, or would grow past its bound."""


class FilterError(SprocketError):
    """A filter expression that does not parse."""


class EvaluateError(SprocketError):
    """A filter expression that is right in itself, but asks a property for a number it does not hold."""


class StoreError(SprocketError):
    """The store cannot do what was asked."""


class StoreCorrupt(StoreError):
    """The disk disagrees with itself at `path`, byte `offset`."""

    def __init__(self, path: Path | str, offset: int, reason: str) -> None:
        from pathlib import Path  # of the store's errors alone, and every client imports the others

        super().__init__(f"{path} at {offset}: {reason}")
        self.path = Path(path)
        self.offset = offset
        self.reason = reason


class StoreLocked(StoreError):
    """Another process holds the store's lock."""


class StoreFull(StoreError):
    """There is no room for another record."""

    retriable = True


class QueueUnwritable(StoreError):
    """The file of a queue cannot be made or mapped, for a reason that is no other queue's."""

    retriable = True


class MessageIllegal(StoreError):
    """A message that no log can hold."""


class FlushFailed(StoreError):
    """A sync to disk failed. The kernel may have dropped the pages, so a second try proves nothing."""


class ConfigError(SprocketError):
    """A configuration key or value that cannot be used."""


class MissingExtra(SprocketError, ImportError):
    """What was asked for needs an optional package."""


class RemotingError(SprocketError):
    """A request that got no answer."""

    retriable = True


class ConnectFailed(RemotingError):
    """No connection to the address could be made. What is `lasting` will not pass by itself: a certificate, a name."""

    def __init__(self, text: str, *, is_lasting: bool = False) -> None:
        super().__init__(text)
        self.is_lasting = is_lasting


class RequestTimeout(RemotingError):
    """No answer came in time. The peer may have done the work all the same."""


class ConnectionLost(RemotingError):
    """The connection ended before the answer came. The peer may have done the work all the same."""
