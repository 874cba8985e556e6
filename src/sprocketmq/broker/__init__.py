"""The broker: stores messages, serves producers and consumers, answers administrators. `broker.Broker` is the process.

    send              a message from its frame to the log and to the answer
    pull              consumers read queues, with long polling
    pop               consumers take single messages and acknowledge them
    transaction       half messages, commits, and checks of those that stay open
    delay             delay levels, timers, recall
    retry             messages that a consumer gave back, dead letters
    static_topic      logical queues that move between brokers
    system_topics     what messages that rest have in common: delivery, alarms, progress
    handlers          the other requests of clients: heartbeats, offsets, look-ups, request and reply
    admin             the requests of administrators
    tables            topics, groups, offsets, members, locks, subscriptions
    cluster           registration with the nameservers
    replication       a master and its slaves
    controller_mode   a role that is given by a controller
    metrics           statistics and figures

Everything runs on one event loop; docs/ARCHITECTURE.md follows a message through these rooms.
"""
