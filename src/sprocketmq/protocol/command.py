"""One remoting command: a request or a response, with its header fields and its body."""

from __future__ import annotations

from sprocketmq.codes import FLAG_ONEWAY, FLAG_RESPONSE, VERSION, LanguageCode, SerializeType


class Command:
    """What a frame carries. `ext_fields` holds the custom header, strings only; None when the peer sent none."""

    __slots__ = ("body", "code", "ext_fields", "flag", "language", "opaque", "remark", "serialize_type", "version")

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
        self.ext_fields = ext_fields
        self.body = body
        self.remark = remark
        self.language = language
        self.version = version
        self.serialize_type = serialize_type

    @property
    def is_response(self) -> bool:
        return bool(self.flag & FLAG_RESPONSE)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & FLAG_ONEWAY)

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
