"""`killtest doctor` tries what a trial needs, and says what to do where something is missing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from killtest.abilities import Ability, Facts, judged_strikes, namespace_advice
from killtest.cli.doctor_command import table


def doctor(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "killtest", "doctor", *words]
    return subprocess.run(
        command, cwd=cwd, env=os.environ | env, capture_output=True, text=True, timeout=100, check=False
    )


def test_abilities_are_tried_and_the_basics_work_here(tmp_path: Path) -> None:
    done = doctor("--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    told = json.loads(done.stdout)
    found = {one["name"]: one for one in told["abilities"]}
    assert told["works"] is True
    assert found["signals"]["detail"] == "KILL, INT, TERM, HUP, QUIT"
    assert found["triggers"]["detail"] == "request, response, after, first"
    assert {name for name, one in found.items() if one["basic"]} == {"signals", "triggers", "free ports"}
    assert set(found) >= {
        "namespaces",
        "subreaper",
        "pidfd",
        "/proc/net/tcp",
        "extra scrapy",
        "extra report",
        "disk",
        "durable steps",
        "extra explore",
        "valkey",
        "postgres",
    }
    assert not list(tmp_path.iterdir())


def test_missing_isolation_is_said_with_what_to_do_and_is_no_failure(tmp_path: Path) -> None:
    done = doctor(cwd=tmp_path, KILLTEST_ISOLATION="none")
    assert done.returncode == 0
    assert "no   namespaces     switched off by KILLTEST_ISOLATION=none; trials use free ports instead" in done.stdout
    assert "-> unset KILLTEST_ISOLATION" in done.stdout
    assert "They would be better with: namespaces" in done.stdout


def test_site_that_cannot_start_is_3(tmp_path: Path) -> None:
    """A package that shadows the shop stands for an installation in pieces."""
    (tmp_path / "killtest_testsite").mkdir()
    (tmp_path / "killtest_testsite" / "__init__.py").touch()
    (tmp_path / "killtest_testsite" / "__main__.py").write_text("raise SystemExit(9)")
    done = doctor(cwd=tmp_path, PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert done.returncode == 3
    assert "NO   signals" in done.stdout
    assert "Trials can't run here: mend what says NO." in done.stdout


FACTS = Facts("Linux", "/usr/bin/unshare", "namespaces", "Operation not permitted", False, False, False, {})


@pytest.mark.parametrize(
    ("changes", "detail", "advice"),
    [
        ({"system": "Darwin"}, "Darwin has none", "on Linux"),
        ({"unshare": None}, "unshare is not there", "apt install util-linux"),
        (
            {"sysctls": {"kernel/apparmor_restrict_unprivileged_userns": "1"}},
            "kernel.apparmor_restrict_unprivileged_userns = 1",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            {"sysctls": {"kernel/unprivileged_userns_clone": "0"}},
            "kernel.unprivileged_userns_clone = 0",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        ({"in_container": True}, "a container without CAP_SYS_ADMIN", "docker run --cap-add=SYS_ADMIN"),
        ({"is_root": True}, "without CAP_SYS_ADMIN; unshare: Operation not permitted", "docker run --cap-add"),
        ({"sysctls": {"kernel/unprivileged_userns_clone": "1"}}, "Operation not permitted", "ask whoever runs"),
    ],
)
def test_refused_namespaces_are_explained(changes: dict[str, object], detail: str, advice: str) -> None:
    told = namespace_advice(msgspec.structs.replace(FACTS, **changes))
    assert detail in told[0]
    assert advice in told[1]


def test_fault_that_did_not_strike_is_named() -> None:
    signals, triggers = judged_strikes({"request:2 KILL": True, "after:0.3 TERM": False})
    assert not signals.works
    assert not triggers.works
    assert signals.advice is not None
    assert "did not strike: after:0.3 TERM" in signals.advice


def test_advice_stands_below_its_line() -> None:
    lines = table([Ability("pidfd", False, "no such call", "a newer kernel"), Ability("cores", True, "2")])
    assert lines == ["no   pidfd  no such call", "            -> a newer kernel", "yes  cores  2"]
