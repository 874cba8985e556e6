# cython: annotation_typing=False
"""The JSON form of a command's header, as Java writes it: keys in alphabetical order, nulls left out.

Compiled, the usual shape is read by `json_header_scan`, and only the rest comes to the general parser here. Numbers and
booleans among the ext fields become strings, as they do in Java; any other surprise is a FrameError.
"""

from __future__ import annotations

from typing import Any

import orjson

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.codes import LanguageCode
from sprocketmq.errors import CommandError, FrameError
from sprocketmq.protocol.command import Command

if not cython.compiled:
    from sprocketmq.hot.octets import Octets, cut
    from sprocketmq.protocol.frame.json_header_scan import scan_at

#: Far above any real header (properties end at 32 KB), and a bound on what parsing one may cost.
MAX_JSON_HEADER_BYTES = 1024 * 1024

#: Of one header, in either form; the length of a name is in bytes there and in characters here.
MAX_EXT_FIELDS, MAX_EXT_NAME = 256, 255

_INT32_LIMIT = 1 << 31
_LANGUAGES = {language.name: language for language in LanguageCode}
_LANGUAGE_NAMES = {int(language): language.name for language in LanguageCode}


def decode_json_header(p: Octets, at: int, end: int) -> Command:
    if end - at > MAX_JSON_HEADER_BYTES:
        raise FrameError(f"JSON header of {end - at} bytes")
    if cython.compiled:  # a scan that is interpreted would be slower than the parser
        command = scan_at(p, at, end)
        if command is not None:
            return command
    return parse_header(cut(p, at, end))


def parse_header(header: bytes) -> Command:
    try:
        fields = orjson.loads(header)
    except orjson.JSONDecodeError as error:
        raise FrameError(f"JSON header: {error}") from None
    if type(fields) is not dict:
        raise FrameError("JSON header: not an object")
    if "code" not in fields:
        raise FrameError("JSON header: no code")
    ext = fields.get("extFields")
    language = _text(fields, "language")
    return Command(
        _int32(fields, "code"),
        opaque=_int32(fields, "opaque"),
        flag=_int32(fields, "flag"),
        ext_fields=None if ext is None else _ext_fields(ext),
        remark=_text(fields, "remark"),
        language=None if language is None else _LANGUAGES.get(language),
        version=_int32(fields, "version"),
    )


def _int32(fields: dict[str, Any], key: str) -> int:
    value = fields.get(key)
    if value is None:
        return 0
    if type(value) is not int or not -_INT32_LIMIT <= value < _INT32_LIMIT:
        raise FrameError(f"JSON header: {key} is not a 32-bit integer")
    return value


def _text(fields: dict[str, Any], key: str) -> str | None:
    value = fields.get(key)
    if value is not None and type(value) is not str:
        raise FrameError(f"JSON header: {key} is not a string")
    return value


def _ext_fields(ext: object) -> dict[str, str]:
    if type(ext) is not dict:
        raise FrameError("JSON header: extFields is not an object")
    if len(ext) > MAX_EXT_FIELDS or max(map(len, ext), default=0) > MAX_EXT_NAME:
        raise FrameError(f"JSON header: more than {MAX_EXT_FIELDS} ext fields, or a name of more than {MAX_EXT_NAME}")
    for value in ext.values():
        if type(value) is not str:
            return {key: _ext_text(key, value) for key, value in ext.items() if value is not None}
    return ext


def _ext_text(key: str, value: object) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) in (str, int, float):
        return str(value)
    raise FrameError(f"JSON header: ext field {key} is not a string")


def encode_json_header(command: Command) -> bytes:
    fields: dict[str, Any] = {"code": command.code}
    if (ext := command.ext_fields) is not None:
        fields["extFields"] = ext if None not in ext.values() else {k: v for k, v in ext.items() if v is not None}
    fields["flag"] = command.flag
    if command.language in _LANGUAGE_NAMES:
        fields["language"] = _LANGUAGE_NAMES[command.language]
    fields["opaque"] = command.opaque
    if command.remark is not None:
        fields["remark"] = command.remark
    fields["serializeTypeCurrentRPC"] = "JSON"
    fields["version"] = command.version
    try:
        return orjson.dumps(fields)
    except orjson.JSONEncodeError as error:
        raise CommandError(f"request {command.code} cannot be written: {error}") from None
