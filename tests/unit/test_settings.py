from pathlib import Path

import pytest

from nephila import __version__
from nephila.errors import UsageError
from nephila.profiles import crawl_settings
from nephila.settings import ProcessSettings, SettingLine, default_parsers, env_names, process_settings, user_agent_of


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ProcessSettings.model_fields:
        for env in env_names(name):
            monkeypatch.delenv(env, raising=False)


def line(settings: ProcessSettings, name: str) -> SettingLine:
    return next(line for line in settings.describe() if line.name == name)


@pytest.mark.requirement("K24", "K39")
def test_defaults() -> None:
    settings = process_settings()
    assert settings.data == Path("nephila-data")
    assert settings.archive_folder == Path("nephila-data/warc")
    assert (settings.workers, settings.concurrency) == (1, 5000)
    assert (settings.port, settings.lease_seconds) == (3000, 15)
    assert {line.source for line in settings.describe()} == {"default"}


@pytest.mark.parametrize(
    ("env", "text", "value"),
    [
        ("NEPHILA_DATA", "/srv/crawl", Path("/srv/crawl")),
        ("NEPHILA_WORKERS", "8", 8),
        ("NEPHILA_PARSERS", "3", 3),
        ("NEPHILA_RESOLVE", "A.test=127.0.0.2, b.test=::1", {"a.test": "127.0.0.2", "b.test": "::1"}),
        ("NEPHILA_DNS_SERVERS", "127.0.0.1,::1", ("127.0.0.1", "::1")),
        ("NEPHILA_LOG_FORMAT", "json", "json"),
        ("NEPHILA_LOG_LEVEL", "", "info"),
        ("CRAWLER_USER_AGENT", "Bot/2", "Bot/2"),
    ],
)
def test_environment(monkeypatch: pytest.MonkeyPatch, env: str, text: str, value: object) -> None:
    monkeypatch.setenv(env, text)
    settings = process_settings()
    name = "user_agent" if env == "CRAWLER_USER_AGENT" else env.removeprefix("NEPHILA_").lower()
    assert getattr(settings, name) == value
    assert line(settings, name).source == (f"env {env}" if text else "default")


@pytest.mark.requirement("W-01", "W-10", "M-10", "W-02", "LG-03")
@pytest.mark.parametrize(
    ("env", "text", "name", "value"),
    [
        ("FETCH_CONCURRENCY", "12", "concurrency", 12),
        ("WORKER_CONCURRENCY", "8", "concurrency", 8),
        ("WORKER_ID", "worker1", "worker_name", "worker1"),
        ("WORKER_METRICS_PORT", "9091", "metrics_port", 9091),
        ("LOG_LEVEL", "DEBUG", "log_level", "debug"),
        ("CRAWLER_USER_AGENT", "Bot/2", "user_agent", "Bot/2"),
    ],
)
def test_the_documents_names_are_aliases_of_ours(
    monkeypatch: pytest.MonkeyPatch, env: str, text: str, name: str, value: object
) -> None:
    monkeypatch.setenv(env, text)
    settings = process_settings()
    assert getattr(settings, name) == value
    assert line(settings, name).source == f"env {env}"
    own = {"concurrency": "99", "metrics_port": "1234", "log_level": "error"}.get(name, "ours")
    monkeypatch.setenv(env_names(name)[0], own)
    assert line(process_settings(), name)[1] == own, "ours wins"
    assert line(process_settings(), name).source == f"env {env_names(name)[0]}"
    assert str(getattr(process_settings({name: value}), name)) == str(value), "an option wins over both"


@pytest.mark.requirement("W-01")
def test_of_two_names_for_requests_in_flight_the_smaller_number_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETCH_CONCURRENCY", "12")
    monkeypatch.setenv("WORKER_CONCURRENCY", "8")
    assert process_settings().concurrency == 8


def test_an_option_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEPHILA_WORKERS", "8")
    monkeypatch.setenv("NEPHILA_CONCURRENCY", "100")
    settings = process_settings({"workers": 2, "concurrency": None})
    assert (settings.workers, line(settings, "workers").source) == (2, "option")
    assert (settings.concurrency, line(settings, "concurrency").source) == (100, "env NEPHILA_CONCURRENCY")


def test_an_option_equal_to_the_default_is_still_an_option() -> None:
    assert line(process_settings({"workers": 1}), "workers").source == "option"


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ("NEPHILA_WORKERS", "many"),
        ("NEPHILA_WORKERS", "257"),
        ("NEPHILA_WORKERS", "-1"),
        ("NEPHILA_CONCURRENCY", "0"),
        ("NEPHILA_CONCURRENCY", "5001"),
        ("NEPHILA_FLUSH_MS", "0"),
        ("NEPHILA_RESOLVE", "a.test"),
        ("NEPHILA_RESOLVE", "a.test=somewhere"),
        ("NEPHILA_DNS_SERVERS", "resolver.test"),
        ("NEPHILA_DNS_SERVERS", "192.0.2.1:none"),
        ("NEPHILA_DNS_SERVERS", "192.0.2.1:65536"),
        ("NEPHILA_LOG_LEVEL", "loud"),
        ("NEPHILA_CONTACT", "me\nX-Evil: 1"),
        ("NEPHILA_USER_AGENT", "a\nb"),
        ("NEPHILA_OWN_HOSTS", "https://example.com/"),
        ("FETCH_CONCURRENCY", "many"),
        ("WORKER_CONCURRENCY", "0"),
        ("WORKER_METRICS_PORT", "70000"),
        ("WORKER_ID", "a\nb"),
        ("LOG_LEVEL", "loud"),
        ("CRAWLER_USER_AGENT", "a\nb"),
    ],
)
def test_a_wrong_value_is_one_line(monkeypatch: pytest.MonkeyPatch, env: str, text: str) -> None:
    monkeypatch.setenv(env, text)
    with pytest.raises(UsageError) as caught:
        process_settings()
    message = str(caught.value)
    assert message.startswith(f"setting {env} cannot be ") and "\n" not in message


def test_a_name_server_may_have_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = ("192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]:5353")
    monkeypatch.setenv("NEPHILA_DNS_SERVERS", ",".join(servers))
    assert process_settings().dns_servers == servers


def test_every_setting_can_be_an_option() -> None:
    process_settings({name: field.default for name, field in ProcessSettings.model_fields.items()})
    assert process_settings({"user_agent": "Bot/4"}).user_agent == "Bot/4"


def test_a_wrong_option_is_named_as_it_was_given() -> None:
    with pytest.raises(UsageError, match=r"^setting workers cannot be -1: "):
        process_settings({"workers": -1})


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown setting 'wokers'"):
        process_settings({"wokers": 1})


def test_own_hosts_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEPHILA_OWN_HOSTS", "Example.com, .example.org,")
    assert process_settings().own_hosts == ("example.com", ".example.org")


@pytest.mark.requirement("W-02", "W-03", "K34")
@pytest.mark.parametrize(
    ("of_crawl", "env", "user_agent"),
    [
        ("", {}, f"Nephila/{__version__} (+https://nephila.example/bot)"),
        ("", {"NEPHILA_CONTACT": "https://me.test/bot"}, f"Nephila/{__version__} (+https://me.test/bot)"),
        ("", {"CRAWLER_USER_AGENT": "Bot/2"}, "Bot/2"),
        ("", {"CRAWLER_USER_AGENT": "Bot/2", "NEPHILA_USER_AGENT": "Bot/3"}, "Bot/3"),
        ("Mine/1", {"CRAWLER_USER_AGENT": "Bot/2"}, "Mine/1"),
    ],
)
def test_user_agent(monkeypatch: pytest.MonkeyPatch, of_crawl: str, env: dict[str, str], user_agent: str) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    crawl = crawl_settings(overrides={"fetch.user_agent": of_crawl})
    assert user_agent_of(crawl, process_settings()) == user_agent


@pytest.mark.parametrize(
    ("workers", "cores", "parsers"),
    [(1, 1, 1), (1, 2, 1), (2, 2, 1), (1, 4, 2), (3, 8, 1), (1, 64, 2), (64, 64, 1), (0, 1, 1), (0, 8, 2)],
)
def test_parsers_follow_the_cores(workers: int, cores: int, parsers: int) -> None:
    assert default_parsers(workers, cores) == parsers


def test_parsers_can_be_set() -> None:
    assert process_settings({"parsers": 7}).parsers_per_worker == 7


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me@db/nephila", "postgresql://me@db/nephila"),
        ("postgresql://me:secret@db:5433/nephila", "postgresql://me@db:5433/nephila"),
        ("postgres://:secret@db/x?sslmode=require", "postgres://@db/x?sslmode=require"),
        ("postgresql:///x?host=/run&password=secret&user=me", "postgresql:///x?host=/run&password=***&user=me"),
    ],
)
def test_the_store_is_shown_without_its_password(url: str, shown: str) -> None:
    settings = process_settings({"store": url})
    assert settings.store == url
    assert settings.shown_store == shown == line(settings, "store").value


def test_a_store_that_is_no_postgresql_is_refused_without_its_password() -> None:
    with pytest.raises(UsageError, match=r"store cannot be 'mysql://me@db/x': write postgresql://") as refused:
        process_settings({"store": "mysql://me:secret@db/x"})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "permitted"),
    [
        ({}, True),
        ({"store": "postgresql://db/x"}, False),
        ({"store": "postgresql://db/x", "allow_private": True}, True),
    ],
)
def test_what_a_worker_may_reach_is_its_operators_to_say(given: dict[str, object], permitted: bool) -> None:
    assert process_settings(given).permits_private is permitted
