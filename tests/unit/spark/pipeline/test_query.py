from __future__ import annotations

import pytest

from sprocketmq.spark.pipeline.query import columns_of


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("select tags, count(*) from orders where storeTimestamp > now() group by 1", ("tags", "storeTimestamp")),
        ("SELECT TAGS, Count( * ) FROM orders GROUP BY ALL", ("tags",)),
        ("select `queueId` from `%RETRY%g` o where o.properties['a'] = 'b'", ("queueId", "properties")),
        ("select length(text) from orders", ("body",)),
        ("select count(*) from orders", ("queueOffset",)),
        ("select a.keys from orders a join refunds b using (keys)", ("keys",)),
    ],
)
def test_only_the_columns_that_are_named(sql: str, columns: tuple[str, ...]) -> None:
    assert columns_of(sql) == columns


@pytest.mark.parametrize(
    "sql",
    [
        "select * from orders",
        "select o.* from orders o",
        "select count(*), first(struct(*)) from orders",
        "select queueId * 2 from orders",
        "table orders",
        "from orders",
        "from orders |> select tags",
        "select tags from orders natural join refunds",
        "select tags from (select tags, keys from orders) pivot (count(keys) for tags in ('a'))",
        "describe orders",
    ],
)
def test_all_columns_when_others_may_be_taken(sql: str) -> None:
    assert columns_of(sql) == ()
