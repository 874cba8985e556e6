from __future__ import annotations

import pytest

from sprocketmq.errors import ConfigError
from sprocketmq.remoting.admin_access import AdminAccess
from sprocketmq.remoting.peer import peer_of


@pytest.mark.parametrize(
    ("allow_from", "host", "allowed"),
    [
        ("", "127.0.0.1", True),
        ("", "::1", True),
        ("", "192.0.2.1", False),
        ("192.0.2.0/24", "192.0.2.1", True),
        ("192.0.2.0/24", "192.0.3.1", False),
        ("10.0.0.1; 192.0.2.1/24, fd00::/8", "192.0.2.77", True),
        ("10.0.0.1; 192.0.2.1/24, fd00::/8", "fd00::5", True),
        ("10.0.0.1; 192.0.2.1/24, fd00::/8", "10.0.0.2", False),
        ("*", "203.0.113.9", True),
    ],
)
def test_who_may_change_things(allow_from: str, host: str, allowed: bool) -> None:
    assert AdminAccess(allow_from).allows(peer_of((host, 1))) is allowed


def test_a_list_that_is_none() -> None:
    with pytest.raises(ConfigError, match="adminAllowFrom='everyone'"):
        AdminAccess("everyone")
