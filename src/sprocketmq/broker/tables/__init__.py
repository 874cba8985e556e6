"""What a broker knows: topics, groups, offsets, members, locks, subscriptions; saved as RocketMQ saves it."""
