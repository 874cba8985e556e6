"""Access: users and policies where the cluster has access control, and the last changes that this console made."""

from __future__ import annotations

from starlette.responses import Response

from sprocketmq.dashboard.cluster.view import known
from sprocketmq.dashboard.web.forms import BadForm
from sprocketmq.dashboard.web.page_guard import Handler
from sprocketmq.dashboard.web.visit import Visit
from sprocketmq.errors import SprocketError
from sprocketmq.protocol.bodies.acl import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo

TYPES = ("Normal", "Super")
ACTIONS = ("Pub", "Sub", "Create", "Update", "Delete", "Get", "List", "All")
KINDS = ("Topic", "Group", "Cluster")
_DONE = {"enable": "enabled", "disable": "disabled", "password": "password changed"}


async def listing(visit: Visit) -> Response:
    is_on = visit.account is not None or visit.console.config.options.credentials is not None
    users = await known(visit.view.admin.accounts.users())
    policies = await known(visit.view.admin.accounts.acls())
    all_of_them = await visit.oversees()
    changes = [each for each in visit.console.audit.changes if all_of_them or each.account == visit.account]
    return visit.render(
        "access.html", is_on=is_on, changes=changes[:50], types=TYPES, actions=ACTIONS,
        kinds=KINDS, users=None if isinstance(users, SprocketError) else users,
        policies=None if isinstance(policies, SprocketError) else policies,
        why=str(users) if isinstance(users, SprocketError) else "",
    )  # fmt: skip


async def create_user(visit: Visit) -> Response:
    form = await visit.form()
    name, password = form.needed("name", "User"), form.raw("password")
    if not password:
        raise BadForm("Password: this field is required.")
    kind = form.text("type") if form.text("type") in TYPES else "Normal"
    await visit.view.admin.accounts.add_user(UserInfo(username=name, password=password, user_type=kind))
    visit.changed("user create", name)
    return visit.see("/access", f"User {name} was created.")


async def change_user(visit: Visit) -> Response:
    form = await visit.form()
    name, what = form.needed("name", "User"), form.text("what")
    accounts = visit.view.admin.accounts
    if what in ("enable", "disable"):
        await accounts.change_user(UserInfo(username=name, user_status=what))
    elif what == "password" and form.raw("password"):
        await accounts.change_user(UserInfo(username=name, password=form.raw("password")))
    else:
        raise BadForm("No change was requested.")
    visit.changed(f"user {what}", name)
    return visit.see("/access", f"User {name}: {_DONE[what]}.")


async def ask_delete_user(visit: Visit) -> Response:
    return visit.render(
        "access_delete.html", what=f"user {visit.query('name')}", typed="name", lost="Its policies are deleted with it."
    )


async def delete_user(visit: Visit) -> Response:
    form, name = await visit.form(), visit.query("name")
    if not name or form.text("typed") != name:
        raise BadForm("The name does not match: nothing was deleted.")
    await visit.view.admin.accounts.remove_user(name)
    visit.changed("user delete", name)
    return visit.see("/access", f"User {name} was deleted.")


async def create_policy(visit: Visit) -> Response:
    form = await visit.form()
    user, kind = form.needed("user", "User"), form.text("kind")
    if kind not in KINDS:
        raise BadForm("Resource: choose a topic, a group or the cluster.")
    actions = [action for action in form.all("action") if action in ACTIONS]
    if not actions:
        raise BadForm("Actions: choose at least one.")
    subject, resource = f"User:{user}", f"{kind}:{form.text('resource') or '*'}"
    decision = "Deny" if form.text("decision") == "Deny" else "Allow"
    entry = PolicyEntryInfo(
        resource=resource, actions=tuple(actions), source_ips=tuple(form.text("addresses").split()), decision=decision
    )
    policy = PolicyInfo(policy_type="Custom", entries=(entry,))
    await visit.view.admin.accounts.put_acl(AclInfo(subject=subject, policies=(policy,)))
    visit.changed("policy change", f"{subject} {resource} {decision}")
    return visit.see("/access", f"Policy {decision} {resource} for {user} was saved.")


async def ask_delete_policy(visit: Visit) -> Response:
    subject, resource = visit.query("subject"), visit.query("resource")
    lost = f"Its rules for {resource} no longer apply to {subject}, including any Deny."
    return visit.render("access_delete.html", what=f"policy {resource} of {subject}", typed="resource", lost=lost)


async def delete_policy(visit: Visit) -> Response:
    form, subject, resource = await visit.form(), visit.query("subject"), visit.query("resource")
    if not subject or not resource or form.text("typed") != resource:
        raise BadForm("The resource does not match: nothing was deleted.")
    await visit.view.admin.accounts.remove_acl(subject.removeprefix("User:"), resource)
    visit.changed("policy delete", f"{subject} {resource}")
    return visit.see("/access", f"Policy {resource} of {subject} was removed.")


ROUTES: list[tuple[str, str, Handler]] = [
    ("GET", "/access", listing),
    ("POST", "/access/users", create_user),
    ("POST", "/access/users/change", change_user),
    ("GET", "/access/users/delete", ask_delete_user),
    ("POST", "/access/users/delete", delete_user),
    ("POST", "/access/policies", create_policy),
    ("GET", "/access/policies/delete", ask_delete_policy),
    ("POST", "/access/policies/delete", delete_policy),
]
