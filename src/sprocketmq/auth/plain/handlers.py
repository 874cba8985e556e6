"""50 to 53: the administration of RocketMQ 4's accounts, as mqadmin 4.9.8 asks for it.

54, which showed all accounts with their secrets, went with CVE-2024-23321 and is not here either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import orjson

from sprocketmq.auth.plain.files import PlainFiles
from sprocketmq.auth.plain.headers import (
    CreateAccessConfigRequestHeader,
    DeleteAccessConfigRequestHeader,
    GetBrokerAclConfigResponseHeader,
    UpdateGlobalWhiteAddrsConfigRequestHeader,
)
from sprocketmq.codes import RequestCode as C
from sprocketmq.errors import ConfigError, RequestRefused
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields
from sprocketmq.remoting import Connection, ProcessorTable, Reply

#: What 4.9.8 answers when it fails; in 5.x the same numbers mean other things.
UPDATE_FAILED, DELETE_FAILED, WHITE_FAILED = 209, 210, 211


@dataclass(frozen=True, slots=True)
class ServerNames:
    """Who answers 52; the address is known when the server listens."""

    cluster: str
    name: str
    address: Callable[[], str]


class PlainHandlers:
    def __init__(self, files: PlainFiles, names: ServerNames) -> None:
        self._files = files
        self._names = names

    def add_to(self, table: ProcessorTable) -> None:
        table.add_slow(C.UPDATE_AND_CREATE_ACL_CONFIG, self.put)
        table.add_slow(C.DELETE_ACL_CONFIG, self.delete)
        table.add(C.GET_BROKER_CLUSTER_ACL_INFO, self.version)
        table.add_slow(C.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, self.set_white)

    async def put(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(CreateAccessConfigRequestHeader, request.ext_fields)
        account = {
            "accessKey": header.access_key,
            "secretKey": header.secret_key,
            "whiteRemoteAddress": header.white_remote_address,
            "admin": header.admin,
            "defaultTopicPerm": header.default_topic_perm or None,
            "defaultGroupPerm": header.default_group_perm or None,
            "topicPerms": _entries(header.topic_perms),
            "groupPerms": _entries(header.group_perms),
        }
        try:
            await self._files.change(lambda files: files.put(account))
        except ConfigError as error:
            raise RequestRefused(UPDATE_FAILED, str(error)) from None
        return request.reply()

    async def delete(self, _connection: Connection, request: Command) -> Reply:
        key = from_ext_fields(DeleteAccessConfigRequestHeader, request.ext_fields).access_key
        if not await self._files.change(lambda files: files.delete(key)):
            remark = f"The accesskey[{key[:255]}] corresponding to accessConfig has been deleted failed."
            raise RequestRefused(DELETE_FAILED, remark)
        return request.reply()

    def version(self, _connection: Connection, request: Command) -> Reply:
        versions = {
            str(path): DataVersion(counter=counter, timestamp=timestamp)
            for path, (counter, timestamp) in self._files.accounts.versions.items()
        }
        last = list(versions.values())[-1] if versions else DataVersion()
        header = GetBrokerAclConfigResponseHeader(
            version=codec.encode(last).decode(),
            all_acl_file_version=orjson.dumps({p: codec.to_tree(v) for p, v in versions.items()}).decode(),
            broker_name=self._names.name,
            broker_addr=self._names.address(),
            cluster_name=self._names.cluster,
        )
        return request.reply(ext_fields=to_ext_fields(header))

    async def set_white(self, _connection: Connection, request: Command) -> Reply:
        header = from_ext_fields(UpdateGlobalWhiteAddrsConfigRequestHeader, request.ext_fields)
        addresses = [part for part in header.global_white_addrs.split(",") if part]
        file = header.acl_file_full_path or ""
        try:
            done = await self._files.change(lambda files: files.set_white(addresses, file))
        except ConfigError:
            done = False
        if not done:
            remark = f"The globalWhiteAddresses[{header.global_white_addrs[:255]}] has been updated failed."
            raise RequestRefused(WHITE_FAILED, remark)
        return request.reply()


def _entries(text: str | None) -> list[str] | None:
    """As Java splits: what is empty at the end does not count. Elsewhere it is an entry, and a wrong one."""
    return None if text is None else (text.rstrip(",") if text.strip(",") else "").split(",")
