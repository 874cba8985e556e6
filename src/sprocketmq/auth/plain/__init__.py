"""Accounts of RocketMQ 4 ("ACL 1.0"): `conf/plain_acl.yml` and the files below `conf/acl`.

addresses     its white lists
account       one account, and what it may
files         reading, watching and changing the files
realm         the decisions, as a guard asks for them
handlers      50 to 53, its administration
migration     its accounts as users and policies
"""
