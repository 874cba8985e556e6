"""Signing in and out of the console, users and policies, in a real browser: clusters with accounts, of both kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect
from tests.browser.chromium import Tab, console, tab
from tests.peers.fixtures import CLUSTERS
from tests.peers.servers import Cluster
from tests.peers.toolchain import needs_tools

expect.set_options(timeout=60_000)
pytestmark = pytest.mark.timeout(600)

ROOT = ("root", "r00t-secret-12")
ADA = ("ada", "a-secret-of-12")
_AUTH = "org.apache.rocketmq.auth"
CONF = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "authenticationProvider": f"{_AUTH}.authentication.provider.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
    "authorizationProvider": f"{_AUTH}.authorization.provider.DefaultAuthorizationProvider",
    "authorizationMetadataProvider": f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
    "initAuthenticationUser": f'{{"username":"{ROOT[0]}","password":"{ROOT[1]}"}}',
    "innerClientAuthenticationCredentials": f'{{"accessKey":"{ROOT[0]}","secretKey":"{ROOT[1]}"}}',
}


@pytest.fixture(scope="module", params=CLUSTERS)
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = CLUSTERS[request.param](tmp_path_factory.mktemp("guarded"), CONF)
    try:
        with needs_tools():
            yield running.start()
    finally:
        running.kill()


@pytest.fixture(scope="module")
def home(guarded: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with console(guarded.address, "--runs", tmp_path_factory.mktemp("runs")) as address:
        yield address


@pytest.fixture
def visitor(browser: Browser, home: str) -> Iterator[Tab]:
    with tab(browser, home) as opened:
        yield opened


def sign_in(visitor: Tab, keys: tuple[str, str], path: str = "/") -> None:
    """From a page that sends the visitor to the form, back to that page."""
    visitor.open(path)
    assert "/sign-in" in visitor.page.url
    visitor.fill(access_key=keys[0], secret_key=keys[1])
    visitor.press("Sign in")


def test_in_to_the_page_that_was_wanted_and_out_again(visitor: Tab) -> None:
    sign_in(visitor, ROOT, "/topics")
    visitor.page.wait_for_url(re.compile("/topics$"))
    visitor.open("/")
    assert "All is well" in visitor.text() or "full" in visitor.text()
    visitor.page.locator("button:has-text('Sign out')").click()
    visitor.page.wait_for_url(re.compile("/sign-in$"))
    visitor.open("/topics")
    assert "/sign-in" in visitor.page.url, "the seat is gone"


@pytest.mark.parametrize("keys", [(ROOT[0], "not-the-secret"), ("nobody", "a-secret-of-12")])
def test_wrong_keys(browser: Browser, home: str, keys: tuple[str, str]) -> None:
    with tab(browser, home) as visitor:
        sign_in(visitor, keys)
        assert f"The broker does not let {keys[0]} in" in visitor.page.inner_text("[role=alert]")
        assert visitor.page.input_value("[name=secret_key]") == ""
        assert keys[1] not in visitor.page.content()
        assert visitor.refusals() == ["403"]
        assert visitor.layout_faults() == []
        visitor.open("/topics")
        assert "/sign-in" in visitor.page.url


def test_a_form_with_another_token_changes_nothing(visitor: Tab) -> None:
    sign_in(visitor, ROOT, "/new/topic")
    visitor.fill(name="forged")
    visitor.page.eval_on_selector("main [name=csrf]", "field => field.value = 'of another page'")
    visitor.press("Create")
    assert "does not carry the token" in visitor.text()
    assert visitor.refusals() == ["403"]
    visitor.open("/topics?q=forged")
    assert "No topic has" in visitor.text()
    visitor.open("/access")
    assert "refused: This form does not carry" in visitor.text(), "the refusal is on record"


def test_a_form_of_another_site_comes_without_the_session(visitor: Tab, home: str) -> None:
    sign_in(visitor, ROOT)
    lure = f"<form method=post action='{home}/new/topic'><input name=name value=forged><button>Win</button></form>"
    visitor.page.route("http://elsewhere.test/", lambda route: route.fulfill(body=lure, content_type="text/html"))
    visitor.page.goto("http://elsewhere.test/")
    visitor.page.click("button")
    visitor.page.wait_for_url(re.compile("/sign-in$"))
    visitor.open("/topics?q=forged")
    assert "No topic has" in visitor.text(), "and the visitor is still signed in"


def test_users_and_policies_from_their_making_to_their_end(browser: Browser, home: str) -> None:
    with tab(browser, home) as visitor:
        sign_in(visitor, ROOT, "/access")
        _add_user(visitor)
        _add_policy(visitor, "Topic", "shop-*", "Pub", "Get")
        _add_policy(visitor, "Cluster", "*", "Get", "List")
        _ada_is_decided_on(browser, home)
        assert visitor.layout_faults() == [], "with users, policies and changes"
        row = _card(visitor, "Policies").locator("tbody tr", has_text="Topic:shop-*")
        row.get_by_role("link", name="Remove").click()
        _confirm(visitor, "Topic:shop-*")
        assert "Policy Topic:shop-* of User:ada was removed." in visitor.text()
        assert row.count() == 0
        ada = _card(visitor, "Users").locator("tbody tr", has_text="ada")
        for button, done in [("Disable", "disabled"), ("Enable", "enabled"), ("Set", "password changed")]:
            ada.locator("[name=password]").fill("another-secret" if button == "Set" else "")
            ada.get_by_role("button", name=button).click()
            assert f"User ada: {done}." in visitor.text()
        ada.get_by_role("link", name="Delete").click()
        _confirm(visitor, "ada")
        assert "User ada was deleted." in visitor.text()
        assert ada.count() == 0
        assert ADA[1] not in visitor.page.content()
        assert "user create" in visitor.text(), "the record of changes"


def _confirm(visitor: Tab, name: str) -> None:
    """Nothing is gone before its name is typed."""
    assert visitor.layout_faults() == []
    visitor.fill(typed=name)
    visitor.press("Delete")


def _card(visitor: Tab, title: str) -> Locator:
    return visitor.page.locator("main section", has=visitor.page.locator("h2", has_text=title))


def _add_user(visitor: Tab) -> None:
    form = visitor.page.locator("main form[action='/access/users']")
    form.locator("[name=name]").fill(ADA[0])
    form.locator("[name=password]").fill(ADA[1])
    form.get_by_role("button").click()
    assert "User ada was created." in visitor.text()


def _add_policy(visitor: Tab, kind: str, resource: str, *actions: str) -> None:
    form = visitor.page.locator("main form[action='/access/policies']")
    form.locator("[name=user]").fill(ADA[0])
    form.locator("[name=kind]").select_option(kind)
    form.locator("[name=resource]").fill(resource)
    for action in actions:
        form.locator(f"[value={action}]").check()
    form.get_by_role("button").click()
    assert f"Policy Allow {kind}:{resource} for ada was saved." in visitor.text()


def _ada_is_decided_on(browser: Browser, home: str) -> None:
    """She gets in, and the broker says no to what no policy allows."""
    with tab(browser, home) as visitor:
        sign_in(visitor, ADA)
        assert "ada" in visitor.page.inner_text(".foot")
        visitor.open("/new/topic")
        visitor.fill(name="not-hers")
        visitor.press("Create")
        assert visitor.refusals() == ["400"]
        assert "User:ada has no permission" in visitor.page.inner_text("[role=alert]")
