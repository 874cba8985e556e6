"""The files of RocketMQ 4's accounts below a home directory: read, watched and changed.

Read in this order: every `*.yml` and `*.yaml` below `conf/acl`, then `conf/plain_acl.yml`, which is made, empty, when
it is not there. Of an access key that comes twice the first counts; white lists are joined. A changed file has all
of them read anew, when it is the same at two looks: somebody may still be writing it, and the first half of a file is
one that can be read. When that fails, what was read before stays. A file that somebody has emptied is waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sprocketmq.atomic_file import LocalFiles, replace_file
from sprocketmq.auth.plain.account import PlainAccount, Rights, access_key_of, check_entries
from sprocketmq.auth.plain.addresses import Matcher, parse_pattern
from sprocketmq.errors import ConfigError
from sprocketmq.logs import Events

events = Events("sprocketmq.auth.plain")

_GLOBAL = "globalWhiteRemoteAddresses"
_MAX_BYTES = 16 << 20
_VERSION = "dataVersion"

Tree = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlainAccounts:
    """What the files say together. `where` has the file of each access key; `versions` those of the files."""

    rights: dict[str, Rights] = field(default_factory=dict)
    white: tuple[str, ...] = ()
    is_white: tuple[Matcher, ...] = ()
    where: dict[str, Path] = field(default_factory=dict)
    versions: dict[Path, tuple[int, int]] = field(default_factory=dict)


class PlainFiles:
    def __init__(self, home: Path, now_ms: Callable[[], int]) -> None:
        self.accounts = PlainAccounts()
        self.on_change: list[Callable[[], object]] = []
        self._home = home
        self._default = home / "conf" / "plain_acl.yml"
        self._now_ms = now_ms
        self._files = LocalFiles(0o600)
        self._seen: dict[Path, tuple[int, int]] = {}
        #: What the last look found, where that was something new.
        self._coming: dict[Path, tuple[int, int]] = {}
        self._changing = asyncio.Lock()

    async def change(self, make: Callable[[PlainFiles], T]) -> T:
        """What `make` does to the files it is given, on a thread of its own; one change after the other."""
        async with self._changing:
            draft = PlainFiles(self._home, self._now_ms)
            draft.accounts, draft._seen, draft._coming = self.accounts, self._seen, self._coming
            try:
                return await asyncio.to_thread(make, draft)
            finally:
                self._take(draft)

    def _take(self, draft: PlainFiles) -> None:
        self._seen, self._coming = draft._seen, draft._coming
        if draft.accounts is not self.accounts:
            self.accounts = draft.accounts
            self._tell()

    def load(self) -> None:
        """ConfigError names a file that cannot be used."""
        if not self._default.exists():
            replace_file(self._default, b"", self._files)
        self._load(self._look())

    def _load(self, seen: dict[Path, tuple[int, int]]) -> None:
        self.accounts = self._read(list(seen))
        self._seen = self._coming = seen
        self._tell()

    def _tell(self) -> None:
        for hook in self.on_change:
            hook()

    def reload(self) -> bool:
        """Read again what has changed on disk; a file that cannot be used changes nothing. False when there is
        something new that may not be whole yet: look again soon.
        """
        try:
            seen = self._look()
        except OSError as error:  # an editor puts it there anew, say
            events.warning("accounts not found, the old ones stay", reason=error)
            return True
        if seen != self._coming:
            self._coming = seen
            return False
        emptied = [path for path, (_, size) in seen.items() if size == 0 and self._seen.get(path, (0, 0))[1] > 0]
        if seen != self._seen and not emptied:
            self._try_load(seen)
        return True

    def _try_load(self, seen: dict[Path, tuple[int, int]]) -> None:
        try:
            self._load(seen)
        except (ConfigError, OSError) as error:
            self._seen = seen  # told once
            events.warning("accounts not read, the old ones stay", reason=error)

    def _look(self) -> dict[Path, tuple[int, int]]:
        folder = self._home / "conf" / "acl"
        paths = sorted(path for path in folder.rglob("*") if path.suffix in (".yml", ".yaml") and path.is_file())
        found = {}
        for path in [*(path for path in paths if path.name != "tools.yml"), self._default]:
            about = path.stat()
            found[path] = (about.st_mtime_ns, about.st_size)
        return found

    def _read(self, paths: list[Path]) -> PlainAccounts:
        read = PlainAccounts()
        white: list[str] = []
        matchers: list[Matcher] = []
        for path in paths:
            tree = read_tree(path)
            if not tree:
                continue
            read.versions[path] = _version(tree)
            found = [str(address) for address in _list(path, tree, _GLOBAL) if address is not None]
            white += found
            matchers += _matchers(path, found)
            for each in _list(path, tree, "accounts"):
                rights = _rights(path, each)
                if rights.account.access_key not in read.rights:
                    read.rights[rights.account.access_key] = rights
                    read.where[rights.account.access_key] = path
        return PlainAccounts(read.rights, tuple(white), tuple(matchers), read.where, read.versions)

    # -- changes ------------------------------------------------------------------------------------------------------

    def put(self, account: Tree) -> None:
        """Change an account in its file, or add it to the default one. A value of None keeps what is there, but the
        secret must be given.
        """
        key, given = account["accessKey"], PlainAccount.of(account)
        given.check_keys()
        check_entries(given.topic_perms)
        check_entries(given.group_perms)
        path = self.accounts.where.get(key, self._default)
        tree = read_tree(path)
        accounts = [each for each in tree.get("accounts") or [] if access_key_of(each) != key]
        old: Tree = next((each for each in tree.get("accounts") or [] if access_key_of(each) == key), {})
        new = {**old, **{name: value for name, value in account.items() if value is not None}}
        PlainAccount.of(new).rights()
        self._write(path, {**tree, "accounts": [*accounts, new]})

    def delete(self, access_key: str) -> bool:
        path = self.accounts.where.get(access_key)
        if path is None:
            return False
        tree = read_tree(path)
        kept = [each for each in tree.get("accounts") or [] if access_key_of(each) != access_key]
        self._write(path, {**tree, "accounts": kept})
        return True

    def set_white(self, addresses: list[str], file: str = "") -> bool:
        """Replace the white list of one of the files that are read; False when it is none of them."""
        for address in addresses:
            parse_pattern(address)
        path = Path(file).resolve() if file else self._default.resolve()
        known = {each.resolve(): each for each in self._seen}
        if path not in known:
            return False
        self._write(known[path], {**read_tree(known[path]), _GLOBAL: addresses})
        return True

    def _write(self, path: Path, tree: Tree) -> None:
        import yaml

        counter = _version(tree)[0] + 1
        tree = {**tree, _VERSION: [{"counter": counter, "timestamp": self._now_ms()}]}
        text = yaml.safe_dump(tree, sort_keys=False, default_flow_style=False, allow_unicode=True)
        replace_file(path, text.encode(), self._files)
        self.load()


def read_tree(path: Path) -> Tree:
    import yaml

    try:
        data = path.read_bytes()
        tree = yaml.safe_load(data) if len(data) <= _MAX_BYTES else None
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f", line {mark.line + 1}"
        raise ConfigError(f"{path}: not YAML that can be used{place}") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{path}: not a map")
    return tree


def _list(path: Path, tree: Tree, key: str) -> list[Any]:
    found = tree.get(key) or []
    if not isinstance(found, list):
        raise ConfigError(f"{path}: {key} is no list")
    return found


def _rights(path: Path, tree: object) -> Rights:
    try:
        return PlainAccount.of(tree).rights()
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _matchers(path: Path, addresses: list[str]) -> list[Matcher]:
    try:
        return [parse_pattern(address) for address in addresses]
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _version(tree: Tree) -> tuple[int, int]:
    """Counter and time; of a file that nobody has changed over the wire there are none."""
    versions = tree.get(_VERSION)
    if not isinstance(versions, list) or not versions or not isinstance(versions[0], dict):
        return 0, 0
    counter, timestamp = versions[0].get("counter", 0), versions[0].get("timestamp", 0)
    return (counter if isinstance(counter, int) else 0), (timestamp if isinstance(timestamp, int) else 0)
