"""Profiles, secrets and TLS: what the command line, the environment, the profile and the defaults make together."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.certificates import KEY_PASSWORD, Certificates

from sprocketmq.cli.cluster_options import options_of
from sprocketmq.cli.main import main
from sprocketmq.cli.profiles import file
from sprocketmq.errors import ConfigError


@pytest.fixture(autouse=True)
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPROCKET_CONFIG", str(tmp_path / "sprocketmq" / "config.toml"))
    return tmp_path / "sprocketmq" / "config.toml"


def profile(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["profile", *arguments])


def test_a_profile_says_what_the_command_line_does_not(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    assert profile("set", "prod", "nameserver=a:1;b:2", "access_key=me", f"secret_key_file={secret}").exit_code == 0
    assert options_of({}).nameservers == ("127.0.0.1:9876",)
    assert profile("use", "prod").exit_code == 0
    options = options_of({})
    assert options.nameservers == ("a:1", "b:2")
    assert options.credentials is not None
    assert (options.credentials.access_key, options.credentials.secret_key) == ("me", "s3cret")
    assert options_of({"nameserver": "c:3"}).nameservers == ("c:3",)
    assert profile("use", "--none").exit_code == 0
    assert options_of({"profile": "prod"}).nameservers == ("a:1", "b:2")


def test_the_file_is_its_owners(own_file: Path) -> None:
    profile("set", "one", "nameserver=a:1", 'secret_key=quo"te', "tls=true")
    assert stat.S_IMODE(own_file.stat().st_mode) == 0o600
    assert file.load().named == {"one": {"nameserver": "a:1", "secret_key": 'quo"te', "tls": True}}
    assert json.loads(profile("show", "one", "--json").stdout)["secret_key"] == "***"


def test_changing_and_removing() -> None:
    profile("set", "one", "nameserver=a:1", "namespace=n")
    profile("set", "one", "namespace=")
    profile("use", "one")
    assert json.loads(profile("list", "--json").stdout) == [{"profile": "one", "current": True, "nameserver": "a:1"}]
    assert profile("remove", "one").exit_code == 0
    assert (file.load().named, file.load().current) == ({}, None)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("set", "one", "nameservr=a"), "did you mean nameserver?"),
        (("set", "one", "tls=maybe"), "true or false"),
        (("set", "o ne", "tls=true"), "no name"),
        (("use", "nobody"), "no profile nobody"),
        (("show",), "no profile is in use"),
    ],
)
def test_mistakes(words: tuple[str, ...], says: str) -> None:
    result = profile(*words)
    assert isinstance(result.exception, ConfigError)
    assert says in str(result.exception)


def test_a_file_that_cannot_be_read(own_file: Path) -> None:
    own_file.parent.mkdir()
    own_file.write_text("current = ")
    with pytest.raises(ConfigError, match=r"config\.toml"):
        options_of({})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"profiles = 5", "profiles is not a table"),
        (b"[[profiles]]", "profiles is not a table"),
        (b"[profiles]\nx = 5", "profiles.x is not a table"),
        (b"current = 5", "current is not a str"),
        (b"[profile.x]\nnameserver = 'a'", "there is no key profile: did you mean profiles?"),
        (b"colour = 1", "there is no key colour; it has current, profiles"),
        (b"\xff\xfe", "can't decode byte 0xff"),
    ],
)
def test_a_file_of_another_shape_is_one_line(own_file: Path, text: bytes, says: str) -> None:
    own_file.parent.mkdir()
    own_file.write_bytes(text)
    with pytest.raises(ConfigError, match=f"config.toml: .*{re.escape(says)}"):
        file.load()


def test_tls() -> None:
    import ssl

    assert options_of({}).ssl is None
    context = options_of({"tls": True}).ssl
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    careless = options_of({"tls": True, "tls_verify": False}).ssl
    assert careless is not None
    assert careless.verify_mode is ssl.CERT_NONE
    with pytest.raises(ConfigError, match="nowhere"):
        options_of({"tls_ca": "/nowhere.pem"})


def test_secrets_come_from_files_and_the_environment(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t0ken")
    given = {"access_key": "a", "secret_key": "s", "token_file": str(token)}
    credentials = options_of(given).credentials
    assert credentials is not None
    assert credentials.token == "t0ken"
    with pytest.raises(ConfigError, match="nowhere"):
        options_of({"access_key": "a", "secret_key_file": "/nowhere"})


def test_a_web_address_is_no_nameserver() -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        options_of({"nameserver": "http://127.0.0.1:9876"})


def test_our_own_certificate(certificates: Certificates, tmp_path: Path) -> None:
    own = {"tls_cert": str(certificates.locked.cert), "tls_key": str(certificates.locked.key)}
    with pytest.raises(ConfigError, match="it is encrypted"):
        options_of(own)
    (tmp_path / "password").write_text(f"{KEY_PASSWORD}\n")
    context = options_of({**own, "tls_key_password_file": str(tmp_path / "password"), "tls_check_hostname": False}).ssl
    assert context is not None
    assert not context.check_hostname
