"""How this process runs: where its data lies, how many workers, how it logs. What a crawl may do is in profiles.py.

Every setting is an environment variable NEPHILA_<NAME>; an option of the command line wins over it.
"""

import ipaddress
import os
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, PrivateAttr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from nephila import __version__
from nephila.errors import UsageError
from nephila.profiles import CrawlSettings

ENV_PREFIX = "NEPHILA_"
USER_AGENT_ENV = "CRAWLER_USER_AGENT"
STORE_SCHEMES = ("postgresql://", "postgres://")
# One loop feeds some 1,500 pages/s to helpers, which is half a core's work; the other reads on beside a huge page.
PARSERS_DEFAULT_MAX = 2


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    CONSOLE = "console"
    JSON = "json"


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _pairs(value: object) -> object:
    if not isinstance(value, str):
        return value
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise ValueError("write name=address,name=address")
    return {name.strip().lower(): address.strip() for name, _, address in pairs}


def _address(value: str) -> str:
    return str(ipaddress.ip_address(value))


def _name_server(value: str) -> str:
    """An address, with a port where it is not 53: 192.0.2.1:5353, [2001:db8::1]:5353."""
    if not value.startswith("[") and value.count(":") != 1:
        return _address(value)
    address, _, port = value.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ValueError("write address or address:port")
    host = _address(address.strip("[]"))
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _header_text(value: str) -> str:
    if not value.isprintable():
        raise ValueError("it goes into a header and must be one line of printable text")
    return value


def _store_url(value: str) -> str:
    if not value.startswith(STORE_SCHEMES):
        raise ValueError("write postgresql://user@host/name")
    return value


def without_password(url: str) -> str:
    """For people and logs. A password may stand before the host or among the parameters."""
    return re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(?<=://)([^/@:]*):[^/@]*@", r"\1@", url))


Address = Annotated[str, AfterValidator(_address)]
NameServer = Annotated[str, AfterValidator(_name_server)]
StoreUrl = Annotated[str, AfterValidator(_store_url)]
HeaderText = Annotated[str, Field(max_length=500), AfterValidator(_header_text)]


class SettingLine(NamedTuple):
    """One line of `nephila settings`."""

    name: str
    value: str
    default: str
    source: str  # default | env NEPHILA_X | option
    help: str


class ProcessSettings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, populate_by_name=True
    )

    data: Path = Field(Path("nephila-data"), description="folder of the store (nephila.db) and the archive (warc/)")
    store: StoreUrl | None = Field(
        None, description="PostgreSQL database of a cluster, postgresql://...; unset: nephila.db in the data folder"
    )
    archive: Path | None = Field(
        None, description="folder of the WARC files, a shared one in a cluster; unset: warc/ in the data folder"
    )
    workers: int = Field(
        1, ge=0, le=256, description="worker processes to start; 0: none, workers started elsewhere do the work"
    )
    lease_seconds: float = Field(
        15.0, ge=1, le=600, description="a worker of a cluster that says nothing for so long is replaced"
    )
    allow_private: bool = Field(
        False,
        description="workers of a cluster may ask private addresses for crawls with fetch.allow_private; on the "
        "embedded store they always may",
    )
    concurrency: int = Field(64, ge=1, le=5000, description="requests in flight per worker")
    parsers: int | None = Field(
        None,
        ge=1,
        le=64,
        description="parsing helper processes per worker; unset: by the cores that workers leave free, 1 or 2",
    )
    flush_ms: int = Field(250, ge=1, le=60_000, description="results are committed at least this often")
    flush_results: int = Field(500, ge=1, le=100_000, description="results that are committed at once, at most")
    hosts_max: int = Field(50_000, ge=100, le=10_000_000, description="host records held in a worker's memory")
    warc_bytes_max: int = Field(1 << 30, ge=1 << 16, le=1 << 40, description="a WARC file of this size is closed")
    contact: HeaderText = Field(
        "https://nephila.example/bot",
        description="URL or mail address in the User-Agent where site owners reach you: set your own",
    )
    user_agent: HeaderText | None = Field(
        None,
        validation_alias=AliasChoices("NEPHILA_USER_AGENT", USER_AGENT_ENV),
        description=f"User-Agent of crawls that set none (also {USER_AGENT_ENV}); unset: Nephila/<version> (+contact)",
    )
    resolve: Annotated[dict[str, Address], NoDecode, BeforeValidator(_pairs)] = Field(
        {}, description="fixed addresses of names, without DNS: name=address,name=address"
    )
    dns_servers: Annotated[tuple[NameServer, ...], NoDecode, BeforeValidator(_split)] = Field(
        (),
        description="addresses of the DNS servers, comma separated, with a port where it is not 53; unset: those of "
        "the system",
    )
    host: Annotated[str, AfterValidator(_address)] = Field(
        "127.0.0.1", description="address that `serve` listens on; one that others can reach needs a token"
    )
    port: int = Field(3000, ge=0, le=65_535, description="port that `serve` listens on; 0: any free one")
    cors_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        (), description="origins of other sites whose pages may use the API, comma separated; unset: none"
    )
    token_crawls_max: int = Field(10, ge=1, le=100_000, description="unfinished crawls that one token may have started")
    index: bool = Field(True, description="`serve` keeps the index of `search` up to date, in a process of its own")
    metrics_port: int | None = Field(
        None,
        ge=1,
        le=65_535,
        description="each worker process shows /metrics at this port plus its slot; unset: nowhere",
    )
    metrics_host: Address = Field(
        "127.0.0.1", description="address of the workers' /metrics, which need no token: never a public one"
    )
    metrics_public: bool = Field(False, description="/metrics of `serve` needs no token")
    ca_file: Path | None = Field(None, description="PEM file of the certificate authorities; unset: the built-in ones")
    log_level: LogLevel = Field(LogLevel.INFO, description="debug, info (one event per visit), warning or error")
    log_format: LogFormat = Field(LogFormat.CONSOLE, description="console (for people) or json (one object per line)")
    log_file: Path | None = Field(None, description="file that log lines are appended to, too")

    _options: frozenset[str] = PrivateAttr(frozenset())

    @property
    def archive_folder(self) -> Path:
        return self.archive or self.data / "warc"

    @property
    def shown_store(self) -> str:
        """Where the store is, without a password."""
        return without_password(self.store) if self.store else str(self.data / "nephila.db")

    @property
    def permits_private(self) -> bool:
        """An embedded store is its user's own; what a cluster's worker may reach is its operator's to say."""
        return self.allow_private or self.store is None

    @property
    def parsers_per_worker(self) -> int:
        return default_parsers(self.workers, usable_cores()) if self.parsers is None else self.parsers

    def describe(self, env: Mapping[str, str] | None = None) -> list[SettingLine]:
        present = {name.upper() for name, value in (os.environ if env is None else env).items() if value}
        return [
            SettingLine(
                name,
                self.shown_store if name == "store" and self.store else _show(getattr(self, name)),
                _show(field.default),
                self._source(name, present),
                field.description or "",
            )
            for name, field in type(self).model_fields.items()
        ]

    def _source(self, name: str, present: set[str]) -> str:
        if name in self._options:
            return "option"
        found = next((env for env in env_names(name) if env in present), None)
        return f"env {found}" if found and name in self.model_fields_set else "default"


def env_names(name: str) -> tuple[str, ...]:
    """The environment variables of a setting, the strongest first."""
    own = ENV_PREFIX + name.upper()
    return (own, USER_AGENT_ENV) if name == "user_agent" else (own,)


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


def default_parsers(workers: int, cores: int) -> int:
    """A worker's share of the cores that workers leave free."""
    return min(max(cores // max(workers, 1) - 1, 1), PARSERS_DEFAULT_MAX)


def process_settings(options: Mapping[str, Any] | None = None) -> ProcessSettings:
    """Defaults, then the environment, then options given on the command line (None: not given)."""
    given = {name: value for name, value in (options or {}).items() if value is not None}
    try:
        settings = ProcessSettings(**given)
    except ValidationError as error:
        raise UsageError(_one_line(error, given)) from None
    settings._options = frozenset(given)
    return settings


def user_agent_of(crawl: CrawlSettings, process: ProcessSettings) -> str:
    """The crawl's own, else the process's, else an honest name with a way to reach the operator."""
    return crawl.fetch.user_agent or process.user_agent or f"Nephila/{__version__} (+{process.contact})"


def _one_line(error: ValidationError, given: Mapping[str, Any]) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0]).lower().removeprefix(ENV_PREFIX.lower())
    if first["type"] == "extra_forbidden":
        return f"unknown setting {name!r}: `nephila settings` lists them all"
    name = "user_agent" if name == USER_AGENT_ENV.lower() else name
    where = name if name in given else env_names(name)[0]
    given_value = first["input"]
    shown = repr(without_password(given_value) if isinstance(given_value, str) else given_value)
    return f"setting {where} cannot be {shown}: {first['msg'].removeprefix('Value error, ').lower()}"


def _show(value: object) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={address}" for name, address in value.items())
    if isinstance(value, tuple):
        return ",".join(value)
    return "" if value is None else str(value)
