"""Access control of one server, put together: by accounts where there are any, else by the peer's address.

access = Access(config, folder, cluster, ...)   ->   open()   ->   guard(table), when every handler is in it
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

from sprocketmq.auth.account_files import AccountFiles
from sprocketmq.auth.account_realm import AccountRealm
from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.address_guard import guard_by_address
from sprocketmq.auth.audit.before_and_after import account_looks, plain_looks
from sprocketmq.auth.audit.trail import Audit
from sprocketmq.auth.authentication.replays import Replays
from sprocketmq.auth.authentication.users import UserType
from sprocketmq.auth.authentication.wrong_keys import WrongKeys
from sprocketmq.auth.config import AuthConfig, Credential
from sprocketmq.auth.guard import Guard
from sprocketmq.auth.handlers import AccountHandlers
from sprocketmq.auth.plain.files import PlainFiles
from sprocketmq.auth.plain.handlers import PlainHandlers, ServerNames
from sprocketmq.auth.plain.migration import migrate_home
from sprocketmq.auth.plain.realm import PlainRealm
from sprocketmq.errors import ConfigError
from sprocketmq.extras import need
from sprocketmq.logs import Events
from sprocketmq.remoting import Connection, ProcessorTable

events = Events("sprocketmq.auth.access")

#: Between two looks at the files of RocketMQ 4's accounts, and before the second look at what is new.
WATCH_SECONDS, SETTLE_SECONDS = 5.0, 1.0


class Access:
    """`folder` is where the server keeps its tables, `cluster` what Cluster policies call it.

    `name` and `address` are told to mqadmin, with the versions of RocketMQ 4's files.
    """

    def __init__(
        self, config: AuthConfig, folder: Path, cluster: str, now_ms: Callable[[], int] | None = None, *,
        name: str = "", address: Callable[[], str] = str,
    ) -> None:  # fmt: skip
        self._config = config
        self._names = ServerNames(cluster, name, address)
        self._now_ms = now_ms or (lambda: time.time_ns() // 1_000_000)
        self._watch: asyncio.Task[None] | None = None
        self.wrong_keys = WrongKeys()
        self.audit = Audit(config.audit_file)
        self.accounts = AccountStore(AccountFiles(account_folder(config, folder)), self._now_ms)
        self.plain = PlainFiles(_home(config), self._now_ms) if config.acl_enable else None
        self.guard_of_accounts = self._make_guard() if config.has_accounts else None

    def open(self) -> None:
        """Read the accounts, and make those that the configuration wants."""
        config = self._config
        self.audit.open()
        if config.acl_enable or config.migrate_auth_from_v1_enabled:
            need("aclEnable", "yaml", "broker")
        if self.plain is not None:
            self.plain.load()
        if config.authentication_enabled:
            self.accounts.load()
            self._make_super(config.first_user())
            self._make_super(config.inner_user())
            if config.migrate_auth_from_v1_enabled:
                migrate_home(_home(config), self.accounts)
            if not any(user.is_super and user.is_enabled for user in self.accounts.list_users()):
                events.warning("no super user: `sprocket user add --store` makes one while this server is stopped")
        self._warn()

    def start(self) -> None:
        """Watch the files; on the event loop."""
        if self.plain is not None:
            self._watch = asyncio.get_running_loop().create_task(self._watch_files(self.plain))

    def stop(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self.audit.close()

    def guard(self, table: ProcessorTable) -> None:
        """Called when every part has added its handlers; those of accounts are added here."""
        if self.plain is not None:
            PlainHandlers(self.plain, self._names).add_to(table)
            self.audit.looks |= plain_looks(self.plain)
        elif self.guard_of_accounts is not None:
            AccountHandlers(self.accounts).add_to(table)
            self.audit.looks |= account_looks(self.accounts)
        self.audit.watch(table)
        if self.guard_of_accounts is not None:
            table.authority = self.guard_of_accounts
        else:
            guard_by_address(table, self._config)

    def on_change(self, hook: Callable[[], object]) -> None:
        """`hook` is called when an account or a policy has changed."""
        self.accounts.on_change.append(hook)
        if self.plain is not None:
            self.plain.on_change.append(hook)

    def may_still(self, connection: Connection, code: int, topic: str) -> bool:
        """Whether the peer that spoke last on a connection may ask `code` about a topic; without accounts it may."""
        guard = self.guard_of_accounts
        return guard is None or guard.may_still(connection.session, code, topic)

    def _make_guard(self) -> Guard:
        config, local = self._config, self._config.admin_local_without_account
        realm: AccountRealm | PlainRealm = AccountRealm(
            self.accounts, inner_key=config.inner_user().name, asks_policies=config.authorization_enabled,
            trusts_local=local, trusts_certificates=config.certificate_as_user,
        )  # fmt: skip
        if self.plain is not None:
            realm = PlainRealm(self.plain, trusts_local=local)
        guard = Guard(
            realm,
            self._names.cluster,
            no_signature=config.codes("authenticationWhitelist", config.authentication_whitelist),
            no_decision=config.codes("authorizationWhitelist", config.authorization_whitelist),
            hold_back=self.wrong_keys.hold_back,
            check_replay=Replays(self._now_ms).check if config.acl_require_timestamp else None,
        )
        self.on_change(guard.forget)
        return guard

    def _make_super(self, wanted: Credential) -> None:
        """As in RocketMQ it is made when it is not there; one that is keeps its own secret."""
        if wanted and self.accounts.find(wanted.name) is None:
            self.accounts.create_user(wanted.name, wanted.secret, UserType.SUPER)
            events.info("super user made", user=wanted.name)

    def _warn(self) -> None:
        config = self._config
        if config.bind_address in ("127.0.0.1", "::1", "localhost"):
            return
        if not config.has_accounts:
            events.warning("no accounts: whoever reaches the port may send and read", bindAddress=config.bind_address)
        if config.admin_local_without_account:
            events.warning("this machine needs no account while adminLocalWithoutAccount is on")

    async def _watch_files(self, files: PlainFiles) -> None:
        settled = True
        while True:
            await asyncio.sleep(WATCH_SECONDS if settled else SETTLE_SECONDS)
            try:
                settled = await files.change(PlainFiles.reload)
            except Exception as error:  # noqa: BLE001 - the edge of the task: whoever watches goes on
                events.error("accounts not read, the old ones stay", error)


def account_folder(config: AuthConfig, folder: Path) -> Path:
    return Path(config.auth_store_path).expanduser() if config.auth_store_path else folder


def _home(config: AuthConfig) -> Path:
    home = config.rocketmq_home or os.environ.get("ROCKETMQ_HOME", "")
    if not home and config.acl_enable:
        raise ConfigError("aclEnable=true: rocketmqHome or ROCKETMQ_HOME must name the folder above conf/plain_acl.yml")
    return Path(home).expanduser()
