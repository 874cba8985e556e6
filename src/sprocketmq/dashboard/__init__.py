"""The console: a small web application over the admin client, for any cluster, ours or Apache RocketMQ.

Pages are made by the server and work without scripts; the parts that move come by server-sent events. Nothing is asked
of the cluster that nobody looks at.

    config      what an operator may set
    console     what all pages share: accounts, sessions, jobs
    app         the routes, and what every request passes
    server      runs the application until it is stopped
    cluster/    what is known of the cluster: snapshots of its answers, kept for a moment
    pages/      one module per page: what it shows, what it changes
    draw/       pictures and texts: charts, the map, a message's body
    jobs/       programs that run beside: verify, archive, report
    web/        hosts, headers, sessions, forms, live parts
"""
