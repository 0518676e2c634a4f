"""action.yml and the workflow: they can be read, and what they name exists."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml_subset
from killtest.cli.group import group
from killtest.plan import subject

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml_subset.load((ROOT / "action.yml").read_text("utf-8"))
WORKFLOW = yaml_subset.load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
STEPS = [*ACTION["runs"]["steps"], *(step for job in WORKFLOW["jobs"].values() for step in job["steps"])]
SCRIPTS = "\n".join(step["run"] for step in STEPS if "run" in step)
FAKE = '#!/bin/sh\nprintf "%s\\n" "$@" > "$ARGUMENTS"\n'


def test_the_workflow_has_its_jobs_and_every_job_ends() -> None:
    assert set(WORKFLOW["jobs"]) == {"lint", "types", "tests", "wheel", "zoo", "gate"}
    assert all(job["runs-on"] and job["timeout-minutes"] for job in WORKFLOW["jobs"].values())
    assert WORKFLOW["jobs"]["tests"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {need for job in WORKFLOW["jobs"].values() if (need := job.get("needs"))} <= set(WORKFLOW["jobs"])


def test_the_nightly_targets_are_targets_of_the_makefile() -> None:
    nightly = yaml_subset.load((ROOT / ".github" / "workflows" / "nightly.yml").read_text("utf-8"))
    job = nightly["jobs"]["promises"]
    makefile = (ROOT / "Makefile").read_text("utf-8").splitlines()
    targets = {line.split(":")[0] for line in makefile if ":" in line}
    assert set(job["strategy"]["matrix"]["target"]) <= targets
    assert job["timeout-minutes"]


def test_every_step_runs_or_uses_something_and_says_which_version() -> None:
    for step in STEPS:
        assert ("run" in step) != ("uses" in step), step
        assert re.fullmatch(r"\./|actions/[a-z-]+@v\d+", step.get("uses", "./")), step
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"] if "run" in step)
    keep = ACTION["runs"]["steps"][-1]
    assert (keep["if"], keep["uses"].partition("@")[0]) == ("always()", "actions/upload-artifact")


@pytest.mark.parametrize("target", re.findall(r"\bmake ([^\s=]+)", SCRIPTS))
def test_every_make_target_exists(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_killtest_command_exists() -> None:
    used = set(re.findall(r"\bkilltest ([a-z]+)", SCRIPTS))
    assert used == {"gate"}
    gate = group.get_command(click.Context(group), "gate")
    assert gate is not None
    known = {name for option in gate.params for name in option.opts}
    assert set(re.findall(r"words\+?=\((--[a-z]+)", SCRIPTS)) <= known


def test_every_file_and_subject_of_the_workflow_exists() -> None:
    for path in re.findall(r"\btests/\S+", SCRIPTS):
        assert (ROOT / path).is_file()
    assert set(WORKFLOW["jobs"]["gate"]["strategy"]["matrix"]["subject"]) <= set(subject.names())


def test_inputs_are_described_used_and_never_pasted_into_a_script() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(ACTION["inputs"])
    assert all(one["description"] and "default" in one for one in ACTION["inputs"].values())
    assert "${{" not in "".join(step.get("run", "") for step in ACTION["runs"]["steps"])
    given = [step["with"] for step in STEPS if step.get("uses") == "./"]
    assert all(set(one) <= set(ACTION["inputs"]) for one in given)


def words_of(step: str, program: str, tmp_path: Path, **env: str) -> list[str]:
    """What the action's step calls `program` with."""
    (found,) = [one for one in ACTION["runs"]["steps"] if one["name"] == step]
    (tmp_path / program).write_text(FAKE)
    (tmp_path / program).chmod(0o755)
    known: dict[str, Any] = dict.fromkeys(found["env"], "") | {"ARGUMENTS": str(tmp_path / "arguments")}
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]]
    subprocess.run(command, env=known | path | env, check=True, capture_output=True)
    return (tmp_path / "arguments").read_text().splitlines()


def test_gate_step_gives_a_subject_and_its_budget(tmp_path: Path) -> None:
    words = words_of("Gate", "killtest", tmp_path, SUBJECT="my crawler", BUDGET="b.toml", BASELINE="old", RESULTS="r")
    assert words == ["gate", "--results", "r", "--budget", "b.toml", "--baseline", "old", "my crawler"]


def test_gate_step_splits_a_command_as_a_shell_does_and_runs_nothing_of_it(tmp_path: Path) -> None:
    command = "python 'my crawl.py' {site_url} --note \"\" $(touch x) *"
    words = words_of("Gate", "killtest", tmp_path, COMMAND=command, STORE="jsonl:o", KEY="sku", RESULTS="results")
    split = ["python", "my crawl.py", "{site_url}", "--note", "", "$(touch", "x)", "*"]
    assert words == ["gate", "--results", "results", "--store", "jsonl:o", "--key", "sku", "--", *split]


@pytest.mark.parametrize(
    ("package", "extras", "wanted"),
    [("", "", "/action"), ("", "scrapy", "/action[scrapy]"), ("dist/k.whl", "scrapy", "dist/k.whl[scrapy]")],
)
def test_install_step_takes_the_action_itself_or_a_package(
    package: str, extras: str, wanted: str, tmp_path: Path
) -> None:
    words = words_of("Install killtest", "python", tmp_path, PACKAGE=package, EXTRAS=extras, ACTION="/action")
    assert words[-1] == wanted


@pytest.mark.parametrize(
    "text", ["a: 1\na: 2", "a:\n\tb: 1", "a: {b: 1}", "a: b: c", "a:\n  b: 1\n   c: 2", "- a\nb: 1", "a: 'x"]
)
def test_reader_refuses_what_is_no_yaml_or_beyond_its_subset(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        yaml_subset.load(text)
