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

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from nephila import __version__
from nephila.errors import SettingRefused, UnknownSetting, UsageError
from nephila.models import ArchiveFormat
from nephila.profiles import CrawlSettings

ENV_PREFIX = "NEPHILA_"
CONTACT_UNSET = "https://nephila.example/bot"
# The documents' names of our settings, which hold where ours is not set. Of two the smaller number holds: a visit is
# both a job and a request.
ALIASES: dict[str, tuple[str, ...]] = {
    "concurrency": ("FETCH_CONCURRENCY", "WORKER_CONCURRENCY"),
    "worker_name": ("WORKER_ID",),
    "user_agent": ("CRAWLER_USER_AGENT",),
    "metrics_port": ("WORKER_METRICS_PORT",),
    "log_level": ("LOG_LEVEL",),
}
STORE_SCHEMES = ("postgresql://", "postgres://")
# The event loop feeds some 1,500 pages/s to helpers, which is half a core's work: one helper would do, and the second
# reads on while the first has a huge page.
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


def _host_name(value: str) -> str:
    name = value.lower()
    if not re.fullmatch(r"\.?[^\s/:@?#.]+(\.[^\s/:@?#.]+)*", name):
        raise ValueError("write names of hosts like example.com or .example.com, without a scheme, port or path")
    return name


def _store_url(value: str) -> str:
    if not value.startswith(STORE_SCHEMES):
        raise ValueError("write postgresql://user@host/name")
    return value


def without_password(url: str) -> str:
    """The URL for people and logs. A password may stand before the host or among the parameters."""
    return re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(?<=://)([^/@:]*):[^/@]*@", r"\1@", url))


Address = Annotated[str, AfterValidator(_address)]
NameServer = Annotated[str, AfterValidator(_name_server)]
HostName = Annotated[str, AfterValidator(_host_name)]
WorkerName = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_header_text)]
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
    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="forbid", env_ignore_empty=True)

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
    worker_name: WorkerName | None = Field(
        None, description="name of the workers in logs and lists; unset: that of the machine"
    )
    lease_seconds: float = Field(
        15.0, ge=1, le=600, description="a worker of a cluster that says nothing for so long is replaced"
    )
    allow_private: bool = Field(
        False,
        description="workers of a cluster may ask private addresses for crawls with fetch.allow_private; on the "
        "embedded store they always may",
    )
    concurrency: int = Field(
        5000,
        ge=1,
        le=5000,
        description="requests in flight per worker at most: how many there are follows what hosts allow and what this "
        "machine keeps up with",
    )
    parsers: int | None = Field(
        None,
        ge=1,
        le=64,
        description="parsing helper processes per worker; unset: by the cores that workers leave free, 1 or 2",
    )
    memory_percent: int = Field(
        70, ge=5, le=100, description="share of the memory, of the cgroup or the machine, that all helpers may use"
    )
    flush_ms: int = Field(250, ge=1, le=60_000, description="results are committed at least this often")
    flush_results: int = Field(500, ge=1, le=100_000, description="results that are committed at once, at most")
    hosts_max: int = Field(50_000, ge=100, le=10_000_000, description="host records held in a worker's memory")
    warc_bytes_max: int = Field(1 << 30, ge=1 << 16, le=1 << 40, description="a WARC file of this size is closed")
    warc_format: ArchiveFormat = Field(
        ArchiveFormat.GZIP,
        description="compression of new WARC files: gzip (.warc.gz), which every tool reads, or zstd (.warc.zst with a "
        "dictionary), a third smaller at the same CPU. Files of both kinds are read, whatever is set",
    )
    own_hosts: Annotated[tuple[HostName, ...], NoDecode, BeforeValidator(_split)] = Field(
        (),
        description="hosts of your own, comma separated (a leading dot: and all below it): like private addresses they "
        "may be asked faster than strangers' by a profile, without robots.txt, and with robots.force",
    )
    contact: HeaderText = Field(
        CONTACT_UNSET,
        description="URL or mail address in the User-Agent where site owners reach you: set your own",
    )
    user_agent: HeaderText | None = Field(
        None,
        description="User-Agent of crawls that set none; unset: Nephila/<version> (+contact)",
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
    connections_max: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="open connections to `serve`, never more than half of the files it may open; unset: 4,096",
    )
    connections_per_address: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="open connections to `serve` from one address (IPv6: one /64 network); unset: a quarter of all, "
        "and from this machine as many as there may be",
    )
    trusted_proxies: Annotated[tuple[Address, ...], NoDecode, BeforeValidator(_split)] = Field(
        (),
        description="addresses of reverse proxies before `serve`, comma separated: connections_per_address does not "
        "hold for them, since all clients come from there",
    )
    request_head_seconds: float = Field(
        10.0, gt=0, le=3600, description="`serve` waits so long for the head of a request, however it trickles in"
    )
    request_body_seconds: float = Field(60.0, gt=0, le=3600, description="and so long for its body")
    keep_alive_seconds: float = Field(
        30.0, gt=0, le=3600, description="`serve` keeps a connection open for so long after an answer"
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
        "127.0.0.1",
        description="address of the workers' /metrics and of their health, which need no token: never a public one",
    )
    health_port: int | None = Field(
        None,
        ge=0,
        le=65_535,
        description="`nephila worker` shows /health, /livez and /readyz at this port, 8081 by custom; 0: any free one; "
        "unset: nowhere",
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
    def given(self) -> frozenset[str]:
        """The settings that were given as options of the command line."""
        return self._options

    @property
    def shown_store(self) -> str:
        """Where the store is, without a password."""
        return without_password(self.store) if self.store else str(self.data / "nephila.db")

    @property
    def permits_private(self) -> bool:
        """Whether crawls may ask private addresses. An embedded store is its user's own; in a cluster the operator
        decides."""
        return self.allow_private or self.store is None

    @property
    def parsers_per_worker(self) -> int:
        return default_parsers(self.workers, usable_cores()) if self.parsers is None else self.parsers

    def describe(self, env: Mapping[str, str] | None = None) -> list[SettingLine]:
        present = {name.upper(): value for name, value in (os.environ if env is None else env).items() if value}
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

    def _source(self, name: str, present: Mapping[str, str]) -> str:
        if name in self._options:
            return "option"
        if name not in self.model_fields_set:
            return "default"
        own = ENV_PREFIX + name.upper()
        found = own if own in present else next(iter(_aliased(name, present) or ()), "")
        return f"env {found}" if found else "default"


def env_names(name: str) -> tuple[str, ...]:
    """The environment variables of a setting, the strongest first."""
    return (ENV_PREFIX + name.upper(), *ALIASES.get(name, ()))


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


def default_parsers(workers: int, cores: int) -> int:
    """Parsers per worker: its share of the cores that workers leave free."""
    return min(max(cores // max(workers, 1) - 1, 1), PARSERS_DEFAULT_MAX)


def process_settings(options: Mapping[str, Any] | None = None) -> ProcessSettings:
    """Defaults, then the environment, then options given on the command line (None: not given)."""
    given = {name: value for name, value in (options or {}).items() if value is not None}
    aliased = {name: found for name in ALIASES if name not in given and (found := _aliased(name, os.environ))}
    try:
        settings = ProcessSettings(**(given | {name: text for name, (_, text) in aliased.items()}))
    except ValidationError as error:
        raise _refused(error, given, {name: env for name, (env, _) in aliased.items()}) from None
    settings._options = frozenset(given)
    return settings


def _aliased(name: str, env: Mapping[str, str]) -> tuple[str, str] | None:
    """The documents' variable that sets this setting, and its text; None: there is none, or ours is set."""
    own, *others = env_names(name)
    found = [(other, env[other]) for other in others if env.get(other)]
    if env.get(own) or not found:
        return None
    variable, text = min(found, key=lambda pair: int(pair[1]) if pair[1].isdecimal() else -1)
    return variable, text.lower() if name == "log_level" else text


def user_agent_of(crawl: CrawlSettings, process: ProcessSettings) -> str:
    """The User-Agent of the crawl, else of the process, else an honest name with a way to reach the operator."""
    return crawl.fetch.user_agent or process.user_agent or f"Nephila/{__version__} (+{process.contact})"


def names_contact(user_agent: str) -> bool:
    """Whether site owners find a way to reach somebody in it: an address of the web or of mail, and not ours."""
    return CONTACT_UNSET not in user_agent and ("://" in user_agent or "@" in user_agent)


def _refused(error: ValidationError, given: Mapping[str, Any], aliased: Mapping[str, str]) -> UsageError:
    first = error.errors()[0]
    name = str(first["loc"][0]).lower().removeprefix(ENV_PREFIX.lower())
    if first["type"] == "extra_forbidden":
        return UnknownSetting(name)
    where = name if name in given else aliased.get(name, env_names(name)[0])
    given_value = first["input"]
    shown = repr(without_password(given_value) if isinstance(given_value, str) else given_value)
    return SettingRefused(where, shown, first["msg"].removeprefix("Value error, ").lower())


def _show(value: object) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={address}" for name, address in value.items())
    if isinstance(value, tuple):
        return ",".join(value)
    return "" if value is None else str(value)
