"""What a broker is to the others of its name, and who is told when that changes."""

from __future__ import annotations

from sprocketmq.broker.config import BrokerConfig, BrokerRole
from sprocketmq.broker.roles import Role, Roles, Standing, standing_of


def test_a_configuration_gives_a_standing() -> None:
    assert standing_of(BrokerConfig()) == Standing(role=Role.MASTER)
    assert standing_of(BrokerConfig(broker_role=BrokerRole.SYNC_MASTER)).synchronous
    slave = standing_of(BrokerConfig(broker_role=BrokerRole.SLAVE, broker_id=2, ha_master_address="10.0.0.1:10912"))
    assert (slave.role, slave.broker_id, slave.ha_address) == (Role.SLAVE, 2, "10.0.0.1:10912")


def test_hooks_hear_of_a_change_once_and_see_the_new_standing() -> None:
    roles = Roles(Standing(role=Role.FENCED))
    heard: list[tuple[Role, Role, Role]] = []
    roles.on_change.append(lambda before, now: heard.append((before.role, now.role, roles.current.role)))
    master = Standing(role=Role.MASTER, epoch=3)
    roles.become(master)
    roles.become(master)
    assert heard == [(Role.FENCED, Role.MASTER, Role.MASTER)]


def test_a_new_epoch_of_the_same_role_is_a_change() -> None:
    roles = Roles(Standing(role=Role.MASTER, epoch=1))
    epochs: list[int] = []
    roles.on_change.append(lambda _before, now: epochs.append(now.epoch))
    roles.become(Standing(role=Role.MASTER, epoch=2))
    assert epochs == [2]


def test_only_a_slave_follows() -> None:
    slave, master = Roles(Standing(role=Role.SLAVE, broker_id=1)), Roles(Standing(role=Role.MASTER))
    for roles in (slave, master):
        roles.follow(master_address="10.0.0.1:10911")
        roles.follow(ha_address="10.0.0.1:10912")
    assert (slave.current.master_address, slave.current.ha_address) == ("10.0.0.1:10911", "10.0.0.1:10912")
    assert master.current == Standing(role=Role.MASTER)
