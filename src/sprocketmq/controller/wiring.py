"""Puts a controller together from its configuration."""

from __future__ import annotations

import ssl as tls
from pathlib import Path

from sprocketmq.controller.config import ControllerConfig, EngineKind
from sprocketmq.controller.engines import Engine
from sprocketmq.controller.engines.etcd import EtcdEngine
from sprocketmq.controller.engines.file import FileEngine
from sprocketmq.controller.engines.gateway import Gateway
from sprocketmq.controller.server import Controller
from sprocketmq.errors import ConfigError


def make_controller(config: ControllerConfig) -> Controller:
    return Controller(config, make_engine(config))


def make_engine(config: ControllerConfig) -> Engine:
    if config.engine is EngineKind.file:
        return FileEngine(config.controller_store_path / "controller.json")
    gateway = Gateway(
        [each.strip() for each in config.etcd_endpoints.split(";") if each.strip()],
        user=config.etcd_user,
        password=_password(config.etcd_password_file),
        ssl=_context(config),
    )
    return EtcdEngine(gateway, config.etcd_prefix.rstrip("/"), config.etcd_lease_seconds)


def _password(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").partition("\n")[0].strip()
    except OSError as error:
        raise ConfigError(f"etcdPasswordFile={path}: {error.strerror}") from None


def _context(config: ControllerConfig) -> tls.SSLContext:
    try:
        context = tls.create_default_context(cafile=config.etcd_ca_file or None)
        if config.etcd_cert_file:
            context.load_cert_chain(config.etcd_cert_file, config.etcd_key_file or None)
    except OSError as error:  # an SSLError is one too
        named = config.etcd_cert_file or config.etcd_ca_file
        raise ConfigError(f"etcdCaFile, etcdCertFile, etcdKeyFile ({named}): {error.strerror or error}") from None
    return context
