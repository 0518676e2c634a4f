"""What a gate leaves in the campaign's folder, whatever it answers: gate.md, junit.xml, benchmark.json."""

from collections.abc import Mapping
from pathlib import Path

from killtest.campaigns.campaign_folder import write_whole
from killtest.errors import UsageError
from killtest.gate.benchmark import benchmark_json
from killtest.gate.job_summary import markdown
from killtest.gate.judgement import Judgement
from killtest.gate.junit import junit_xml

# The last one written tells that all are there.
FILES = ("gate.md", "benchmark.json", "junit.xml")


def write(judgement: Judgement, folder: Path, environment: Mapping[str, str]) -> None:
    """Write the files, each whole or not at all, and add the page to $GITHUB_STEP_SUMMARY where that is set."""
    page = markdown(judgement, str(folder)).encode()
    contents = (page, benchmark_json(judgement), junit_xml(judgement, str(folder)))
    for name, content in zip(FILES, contents, strict=True):
        try:
            write_whole(folder / name, content)
        except OSError as error:
            raise UsageError(f"{folder / name}: {error.strerror or error}; a gate writes into its campaign") from None
    summary = environment.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with open(summary, "ab") as handle:
                handle.write(page)
        except OSError as error:
            raise UsageError(f"GITHUB_STEP_SUMMARY={summary}: {error.strerror or error}") from None


def are_written(folder: Path) -> bool:
    """Whether a gate has judged this campaign to its end."""
    return (folder / FILES[-1]).is_file()
