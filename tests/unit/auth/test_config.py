from __future__ import annotations

import pytest

from sprocketmq.auth.config import AuthConfig
from sprocketmq.config import from_properties, shown, to_properties
from sprocketmq.errors import ConfigError

LOCAL = "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ({"authorizationEnabled": "true"}, "authorizationEnabled"),
        ({"authenticationEnabled": "true", "aclEnable": "true"}, "aclEnable"),
        ({"authenticationWhitelist": "10,x"}, "authenticationWhitelist"),
        ({"authorizationWhitelist": "ten"}, "authorizationWhitelist"),
        ({"authenticationProvider": "com.example.Mine"}, "authenticationProvider"),
        ({"authenticationMetadataProvider": "java.lang.Runtime"}, "authenticationMetadataProvider"),
        ({"initAuthenticationUser": "root:marked-secret"}, "initAuthenticationUser"),
        ({"initAuthenticationUser": '{"username":"root"}'}, "initAuthenticationUser"),
        ({"initAuthenticationUser": '{"username":" ","password":"marked-secret"}'}, "initAuthenticationUser"),
        ({"innerClientAuthenticationCredentials": '["marked-secret"]'}, "innerClientAuthenticationCredentials"),
        (
            {
                "authenticationEnabled": "true",
                "initAuthenticationUser": '{"username":"rocketmq","password":"12345678"}',
            },
            "initAuthenticationUser",
        ),
        (
            {
                "authenticationEnabled": "true",
                "innerClientAuthenticationCredentials": '{"accessKey":"rocketmq","secretKey":"12345678"}',
            },
            "innerClientAuthenticationCredentials",
        ),
    ],
)
def test_what_cannot_be_is_named_and_no_secret_is(entries: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        from_properties(AuthConfig, entries)
    assert "marked-secret" not in str(caught.value)


def test_rocketmq_s_own_classes_are_known() -> None:
    config = from_properties(
        AuthConfig,
        {"authenticationMetadataProvider": LOCAL, "authenticationEnabled": "true", "authorizationWhitelist": "10, 310"},
    )
    assert config.codes("authorizationWhitelist", config.authorization_whitelist) == {10, 310}
    assert config.has_accounts


def test_secrets_are_not_shown() -> None:
    config = from_properties(
        AuthConfig,
        {
            "initAuthenticationUser": '{"username":"root","password":"marked-secret"}',
            "innerClientAuthenticationCredentials": '{"accessKey":"in","secretKey":"marked-secret"}',
        },
    )
    assert config.first_user().secret == config.inner_user().secret == "marked-secret"
    assert "marked-secret" not in repr([shown(key, text) for key, text in to_properties(config).items()])
    assert "marked-secret" not in repr((config.first_user(), config.inner_user()))
