from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from cryptography import x509

from sprocketmq.certificates import make_authority, make_client, make_server, read_issued
from sprocketmq.errors import ConfigError, MissingExtra


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    files = make_authority("Ours", days=1).write(tmp_path, "ca")
    assert stat.S_IMODE(files.key.stat().st_mode) == 0o600


def test_an_authority_that_is_read_again_goes_on(tmp_path: Path) -> None:
    files = make_authority("Ours", days=1).write(tmp_path, "ca")
    authority = read_issued(files.cert, files.key)
    server = make_server(authority, ["broker-a", "10.0.0.1", "::1"], days=1)
    server.certificate.verify_directly_issued_by(authority.certificate)
    names = server.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(each.value) for each in names] == ["broker-a", "10.0.0.1", "::1"]
    make_client(authority, "orders", days=1).certificate.verify_directly_issued_by(authority.certificate)


@pytest.mark.parametrize("name", ["ünderscore", "x" * 65, ""])
def test_a_name_that_cannot_be(name: str) -> None:
    authority = make_authority("Ours", days=1)
    with pytest.raises(ConfigError):
        make_server(authority, [name], days=1)


def test_files_that_are_no_authority(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_issued(tmp_path / "ca.pem", tmp_path / "ca.key")
    (tmp_path / "ca.pem").write_text("junk")
    (tmp_path / "ca.key").write_text("junk")
    with pytest.raises(ConfigError, match=r"ca.pem"):
        read_issued(tmp_path / "ca.pem", tmp_path / "ca.key")


def test_without_the_extra_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.setattr("sprocketmq.extras.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'sprocketmq\[certs\]'"):
        make_authority("Ours", days=1)
