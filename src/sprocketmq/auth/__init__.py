"""Accounts: who asks, what it may do, and what was changed by whom.

    authentication   who asks: users, their sessions, and the signatures of their requests
    authorization    what it may do: policies, and what every request code needs
    accounts         users and policies in one place, with RocketMQ's rules for changing them
    account_files    both on disk
    guard            stands before every handler of a server
    plain            the accounts of RocketMQ 4
    audit            what was changed by whom

The nameserver, the broker and the controller use the same parts; see docs/security.md.
"""
