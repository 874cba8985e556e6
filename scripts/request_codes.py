"""Writes docs/request-codes.md from the code: every request code, and who may ask it.

python scripts/request_codes.py           writes the page
python scripts/request_codes.py --check   fails when the page is not what the code says
"""

from __future__ import annotations

import sys
from pathlib import Path

from sprocketmq.auth.authorization.request_table import REQUESTS

PAGE = Path(__file__).parents[1] / "docs" / "request-codes.md"

HEAD = """# Who may ask what

Made from `auth/authorization/request_table.py` by `scripts/request_codes.py`; a test holds it complete. T topic,
G group, C cluster; several needs: all of them; `/`: any of them. Without accounts the peer's address decides, with
them a signature, and then the policies of its user (see [security.md](security.md)). A code that is not here is
answered REQUEST_CODE_NOT_SUPPORTED, with accounts only to users.

| code | name | asked of | without accounts: who may | with accounts: needs | changes |
|--:|---|---|---|---|---|
"""


def page() -> str:
    rows = [
        f"| {code} | {row.code.name} | {row.asked_of} | {row.role.value} | {row.needs} | {'yes' * row.changes} |"
        for code, row in REQUESTS.items()
    ]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        raise SystemExit(f"{PAGE.name} is not what the code says: run {Path(__file__).name}")
