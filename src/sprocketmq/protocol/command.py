# cython: annotation_typing=False
"""One remoting command: a request or a response, with its header fields and its body."""

from __future__ import annotations

from typing import Any

from sprocketmq.codes import FLAG_ONEWAY, FLAG_RESPONSE, VERSION, LanguageCode, SerializeType
from sprocketmq.protocol.frame.binary_header import decode_block


class Command:
    """What a frame carries.

    `ext_fields` holds the custom header, strings only; None when the peer sent none. Of a binary frame it is
    decoded when it is first asked for. There an empty value stands for Java's null: the binary form has no other.
    """

    __slots__ = (
        "_block", "_ext_fields", "arrived", "body", "cleared_by", "code", "flag", "language", "opaque", "remark",
        "serialize_type", "version",
    )  # fmt: skip

    def __init__(
        self,
        code: int,
        *,
        opaque: int = 0,
        flag: int = 0,
        ext_fields: dict[str, str] | None = None,
        body: bytes = b"",
        remark: str | None = None,
        language: int | None = LanguageCode.PYTHON,
        version: int = VERSION,
        serialize_type: int = SerializeType.JSON,
    ) -> None:
        self.code = code
        self.opaque = opaque
        self.flag = flag
        self.body = body
        self.remark = remark
        self.language = language
        self.version = version
        self.serialize_type = serialize_type
        #: By the clock of the event loop: when a request came that is answered later.
        self.arrived = 0.0
        #: The session that a request was found to be signed and allowed for, before it was its turn; see `auth.guard`.
        self.cleared_by: Any = None
        self._ext_fields = ext_fields
        self._block: bytes | None = None

    @property
    def ext_fields(self) -> dict[str, str] | None:
        if self._block is not None:
            self._ext_fields = decode_block(self._block)
            self._block = None
        return self._ext_fields

    @ext_fields.setter
    def ext_fields(self, fields: dict[str, str] | None) -> None:
        self._ext_fields = fields
        self._block = None

    @property
    def is_response(self) -> bool:
        return self.flag & FLAG_RESPONSE != 0

    @property
    def is_oneway(self) -> bool:
        return self.flag & FLAG_ONEWAY != 0

    def reply(
        self,
        code: int = 0,
        remark: str | None = None,
        *,
        ext_fields: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> Command:
        """The response to this request: same opaque, same serialization."""
        return Command(
            code,
            opaque=self.opaque,
            flag=FLAG_RESPONSE,
            ext_fields=ext_fields,
            body=body,
            remark=remark,
            serialize_type=self.serialize_type,
        )

    def __repr__(self) -> str:
        kind = "response" if self.is_response else "oneway" if self.is_oneway else "request"
        return f"<Command {kind} code={self.code} opaque={self.opaque} ext={self.ext_fields} body={len(self.body)}>"
