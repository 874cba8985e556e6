from __future__ import annotations

import pytest
from scripts.request_codes import PAGE, page

from sprocketmq.auth.authorization.request_table import CHANGES, REQUESTS, ROWS, Asker, Level, Row
from sprocketmq.codes import RequestCode


def test_every_code_has_one_row() -> None:
    assert sorted(REQUESTS) == sorted(RequestCode)
    assert len(ROWS) == len(REQUESTS)


def test_the_page_says_what_the_table_says() -> None:
    assert PAGE.read_text() == page(), "run scripts/request_codes.py"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.code.name)
def test_no_row_is_an_open_door(row: Row) -> None:
    assert bool(row.named or row.body or row.stored) is (row.level is Level.POLICY)
    assert not (row.changes and row.role is Asker.EVERYONE)
    assert (row.role in (Asker.NOBODY, Asker.BY_BROKER)) is (row.level is Level.NOBODY)


def test_accounts_are_changed_by_super_users_alone() -> None:
    accounts = [*range(3001, 3009), 50, 51, 53]
    assert {REQUESTS[code].level for code in accounts} == {Level.SUPER}
    assert {code for code in accounts if code not in CHANGES} == {3004, 3005}
