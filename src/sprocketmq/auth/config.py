"""The settings of accounts, with RocketMQ's key names where it has them. Every server has the same."""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from sprocketmq.config import setting
from sprocketmq.errors import ConfigError
from sprocketmq.remoting.config import ServerConfig

_PACKAGE = "org.apache.rocketmq.auth."
#: What the class names in RocketMQ's settings may be: those whose work is done here.
_KNOWN_CLASSES = {
    "authenticationProvider": ("DefaultAuthenticationProvider",),
    "authenticationMetadataProvider": ("LocalAuthenticationMetadataProvider",),
    "authenticationStrategy": ("StatelessAuthenticationStrategy", "StatefulAuthenticationStrategy"),
    "authorizationProvider": ("DefaultAuthorizationProvider",),
    "authorizationMetadataProvider": ("LocalAuthorizationMetadataProvider",),
    "authorizationStrategy": ("StatelessAuthorizationStrategy", "StatefulAuthorizationStrategy"),
}
#: Users of RocketMQ's documents and examples, which the whole world knows.
_WELL_KNOWN = frozenset({("rocketmq", "12345678"), ("RocketMQ", "12345678"), ("rocketmq2", "12345678")})


@dataclass(frozen=True, slots=True)
class Credential:
    """A name and its secret, as a setting gives them; empty where there are none."""

    name: str = ""
    secret: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig(ServerConfig):
    authentication_enabled: bool = setting("authenticationEnabled", False, "Every request must be signed by a user.")
    authorization_enabled: bool = setting("authorizationEnabled", False, "Users may do what their policies allow.")
    init_authentication_user: str = setting(
        "initAuthenticationUser", "", 'A super user made at the start: {"username":"...","password":"..."}.'
    )
    inner_client_authentication_credentials: str = setting(
        "innerClientAuthenticationCredentials", "",
        'What this server signs with, a super user: {"accessKey":"...","secretKey":"..."}.',
    )  # fmt: skip
    authentication_whitelist: str = setting(
        "authenticationWhitelist", "", "Request codes that need no signature, `,` between."
    )
    authorization_whitelist: str = setting(
        "authorizationWhitelist", "", "Request codes that need no policy, `,` between."
    )
    authentication_provider: str = setting("authenticationProvider", "", "RocketMQ's own class, or empty.")
    authentication_metadata_provider: str = setting("authenticationMetadataProvider", "", "The same.")
    authentication_strategy: str = setting("authenticationStrategy", "", "The same; each signature is checked anyway.")
    authorization_provider: str = setting("authorizationProvider", "", "The same.")
    authorization_metadata_provider: str = setting("authorizationMetadataProvider", "", "The same.")
    authorization_strategy: str = setting("authorizationStrategy", "", "The same.")
    acl_enable: bool = setting("aclEnable", False, "Accounts of RocketMQ 4: conf/plain_acl.yml and conf/acl.")
    migrate_auth_from_v1_enabled: bool = setting(
        "migrateAuthFromV1Enabled", False, "Make users of the accounts of RocketMQ 4 at the start."
    )
    rocketmq_home: str = setting("rocketmqHome", "", "Folder above conf/plain_acl.yml; empty is ROCKETMQ_HOME.")
    auth_store_path: str = setting(
        "authStorePath", "", "Folder of users.json and acls.json; empty is where the server keeps its tables."
    )
    acl_require_timestamp: bool = setting(
        "aclRequireTimestamp", True, "Users marked strict must sign a time, a number used once and the code."
    )
    admin_local_without_account: bool = setting(
        "adminLocalWithoutAccount", False, "This machine may do everything without an account: for the first start."
    )
    certificate_as_user: bool = setting(
        "certificateAsUser", False, "A verified client certificate with a user's name needs no signature."
    )
    audit_file: str = setting("auditFile", "", "Write a line for each change to this file as well.")

    def __post_init__(self) -> None:
        ServerConfig.__post_init__(self)
        if self.authorization_enabled and not self.authentication_enabled:
            raise ConfigError(
                "authorizationEnabled=true without authenticationEnabled would believe any name: set both"
            )
        if self.acl_enable and self.authentication_enabled:
            raise ConfigError("aclEnable and authenticationEnabled are two kinds of accounts: set one of them")
        self.check_classes()
        self.codes("authenticationWhitelist", self.authentication_whitelist)
        self.codes("authorizationWhitelist", self.authorization_whitelist)
        self.first_user()
        self.inner_user()

    def check_classes(self) -> None:
        given = {
            "authenticationProvider": self.authentication_provider,
            "authenticationMetadataProvider": self.authentication_metadata_provider,
            "authenticationStrategy": self.authentication_strategy,
            "authorizationProvider": self.authorization_provider,
            "authorizationMetadataProvider": self.authorization_metadata_provider,
            "authorizationStrategy": self.authorization_strategy,
        }
        for key, name in given.items():
            if name and (name.rpartition(".")[2] not in _KNOWN_CLASSES[key] or not name.startswith(_PACKAGE)):
                raise ConfigError(f"{key}={name!r}: expected {_KNOWN_CLASSES[key][0]} of RocketMQ, or nothing")

    def codes(self, key: str, text: str) -> frozenset[int]:
        try:
            return frozenset(int(code) for code in text.split(",") if code.strip())
        except ValueError:
            raise ConfigError(f"{key}={text!r}: expected request codes, `,` between") from None

    def first_user(self) -> Credential:
        found = _credential("initAuthenticationUser", self.init_authentication_user, "username", "password")
        if (found.name, found.secret) in _WELL_KNOWN and self.authentication_enabled:
            raise ConfigError("initAuthenticationUser is the example that everybody knows: choose a password")
        return found

    def inner_user(self) -> Credential:
        text = self.inner_client_authentication_credentials
        found = _credential("innerClientAuthenticationCredentials", text, "accessKey", "secretKey")
        if (found.name, found.secret) in _WELL_KNOWN and self.authentication_enabled:
            raise ConfigError("innerClientAuthenticationCredentials is the example that everybody knows: choose a key")
        return found

    @property
    def has_accounts(self) -> bool:
        return self.authentication_enabled or self.acl_enable


def _credential(key: str, text: str, name_key: str, secret_key: str) -> Credential:
    """The text is never told: it holds a secret."""
    if not text.strip():
        return Credential()
    try:
        tree = orjson.loads(text)
        name, secret = tree[name_key], tree[secret_key]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise ConfigError(f'{key}: expected {{"{name_key}":"...","{secret_key}":"..."}}') from None
    if not isinstance(name, str) or not isinstance(secret, str) or not name.strip() or not secret.strip():
        raise ConfigError(f"{key}: {name_key} and {secret_key} must be texts that are not blank")
    return Credential(name, secret)
