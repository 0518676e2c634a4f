"""The pages of a campaign in a real browser: they draw, filter, open, zoom and copy, and nothing leaves."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import PROGRAM, WITHOUT, browser, drawn, offences, opened
from killtest.report.pages.campaign_pages import write_pages
from ledger_lines import control, failed, fault, trial, unknown, write_evidence
from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.skipif(PROGRAM is None, reason=WITHOUT), pytest.mark.xdist_group("chromium")]

EVIL = "</script><script>window.broken=1</script><img src=x onerror=window.broken=2>&amp;"
THEMES = ("light", "dark")
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


def timed(subject: str, mean_s: float, number: int, **changes: Any) -> dict[str, Any]:
    """A trial under kills that are `mean_s` seconds apart on average."""
    return trial(subject, number, f"mtbf-{mean_s:g}", campaign="article", **changes)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trials of every outcome, of a subject and with keys that are an attack; evidence of one of each kind."""
    folder = tmp_path_factory.mktemp("campaign")
    bad = failed(data={"lost": {"count": 1, "keys": {EVIL: "answered"}}}, reproduce=f"killtest run '{EVIL}'")
    evil = failed(EVIL, 7) | {"id": "evil--start-KILL-7", "evidence": None}
    lines = [control(), bad, failed(number=2), unknown(number=3), trial("idempotent"), evil]
    lines += [trial("idempotent", number, "held") for number in range(1, 131)]
    lines += [timed("naive", mean_s, number) for mean_s in (1, 2) for number in (1, 2)]
    lines += [timed("naive", 0.5, 1, outcome="FAIL", cause="faults", ending="out_of_time")]
    for line in (bad, unknown(number=3)):
        write_evidence(folder, line)
    evidence = folder / str(bad["evidence"])
    (evidence / "incarnation-0.stderr").write_text(EVIL)
    log = evidence / "site.jsonl"
    log.write_text(log.read_text().replace("/product/2", json.dumps(EVIL)[1:-1]))
    write_pages(folder, lines)
    return folder


@pytest.fixture(scope="module")
def trial_page(campaign: Path) -> Path:
    return campaign / "trials" / "naive--start-KILL-1" / "index.html"


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exploration of 40 points, two of which fail, and a map of power cuts under two models."""
    folder = tmp_path_factory.mktemp("explore")
    points = [point(k) for k in range(1, 41)]
    points[19] |= {"outcome": "FAIL", "findings": {"lost": 2}, "confirmed": True, "path": EVIL}
    points[29] |= {"outcome": "FAIL", "findings": {}, "ending": "crash_loop", "confirmed": None}
    cuts = [point(k) | {"model": model, "torn_bytes": 512} for model in ("ordered", "torn") for k in range(1, 4)]
    (folder / "points.jsonl").write_text("".join(json.dumps(one) + "\n" for one in points))
    (folder / "points_power.jsonl").write_text("".join(json.dumps(one) + "\n" for one in cuts))
    (folder / "explored.json").write_text(json.dumps({"outcome": "FAIL", "points": 40, "failing": 2, "doubts": [EVIL]}))
    write_pages(folder, [control()])
    return folder / "map.html"


def point(k: int) -> dict[str, Any]:
    """A point of a map that recovers."""
    first = {"files": {"crawl.db": 4096 * k, "job": None}} if k % 2 else {}
    return {
        "k": k,
        "trigger": f"syscall:write#{k}",
        "call": "write",
        "path": "crawl.db",
        "size": 24,
        "offset": 24 * k,
        "requests_before": k,
        "last_request": "/product/1",
        "phase": "after /product/N",
        "state": f"{(k + 1) // 2:032x}",
        "group": "00",
        "outcome": "PASS",
        "ending": "finished",
        "findings": {},
        "requests": 34,
        "starts": 1,
        "confirmed": None,
        "reproduce": f"killtest run naive --fault 'syscall:write#{k} KILL'",
    } | first


def shown(page: Page) -> list[str]:
    """The schedules in the list of trials."""
    return page.locator("table.trials tbody tr td:nth-child(3)").all_inner_texts()


def test_index_compares_and_a_cell_leads_to_its_trials(chromium: Browser, campaign: Path) -> None:
    with opened(chromium, campaign / "index.html") as page:
        cell = page.locator("a.cell", has_text="2 FAIL")
        assert "FAIL 100 %" in cell.inner_text()
        assert "1 UNKNOWN" in cell.inner_text()
        cell.click()
        assert "subject=naive&group=start-KILL" in page.url
        assert sorted(shown(page)) == ["start-KILL-1", "start-KILL-2", "start-KILL-3"]
        assert page.evaluate("document.activeElement.id") == "list"
        drawn(page, "ideal", "coverage", "mtbf")


def test_filters_live_in_the_fragment_and_a_link_restores_them(chromium: Browser, campaign: Path) -> None:
    with opened(chromium, campaign / "index.html") as page:
        page.get_by_label("Outcome", exact=True).select_option("FAIL")
        page.get_by_label("Finding").select_option("lost")
        assert shown(page) == ["start-KILL-1"]
        fragment = "#" + page.url.partition("#")[2]
        page.get_by_role("button", name="Show all").click()
        assert "1 to 50 shown" in page.locator("#count").inner_text()
    assert fragment == "#outcome=FAIL&finding=lost"
    with opened(chromium, campaign / "index.html", fragment) as page:
        assert shown(page) == ["start-KILL-1"]
        assert page.get_by_label("Finding").input_value() == "lost"
        page.get_by_label("Finding").select_option("duplicated")
        assert sorted(shown(page)) == ["start-KILL-1", "start-KILL-2", "start-KILL-7"]
        page.go_back()
        assert shown(page) == ["start-KILL-1"]


def test_list_goes_by_pages_and_sorts(chromium: Browser, campaign: Path) -> None:
    with opened(chromium, campaign / "index.html", "#group=held&page=2") as page:
        assert len(shown(page)) == 50
        page.get_by_role("button", name="Next").first.click()
        assert len(shown(page)) == 30
        assert "130 of" in page.locator("#count").inner_text()
    with opened(chromium, campaign / "index.html", "#group=start-KILL&sort=-requests") as page:
        assert page.locator("th[aria-sort=descending]").inner_text() == "Requests ▼"
        assert shown(page)[-1] == "start-KILL-3"  # UNKNOWN, without figures
        page.get_by_role("button", name="Outcome").click()
        assert shown(page)[0] in ("start-KILL-1", "start-KILL-2", "start-KILL-7")
        assert page.evaluate("document.activeElement.dataset.keep") == "sort-outcome"


def test_a_trial_opens_from_the_list_and_leads_back(chromium: Browser, campaign: Path) -> None:
    with opened(chromium, campaign / "index.html", "#subject=naive&group=start-KILL&outcome=FAIL") as page:
        page.locator("table.trials a", has_text="start-KILL-1").click()
        page.wait_for_selector("h1:has-text('naive--start-KILL-1')")
        drawn(page, "timeline")
        for name in ("incarnation-0.stderr", "site.jsonl"):
            address = page.locator(f".filelist a[href='{name}']").evaluate("(link) => link.href")
            assert Path(address.removeprefix("file://")).is_file()
        page.get_by_role("link", name="article").click()
        page.wait_for_selector("#trials table")


def test_timeline_has_every_request_and_zooms_by_keys_buttons_and_wheel(chromium: Browser, trial_page: Path) -> None:
    with opened(chromium, trial_page) as page:
        drawn(page, "timeline")
        assert "first request (3)" in page.locator(".keys").inner_text()
        assert "late request (1)" in page.locator(".keys").inner_text()
        reached = page.locator("#range")
        whole = reached.inner_text()
        page.get_by_role("button", name="Zoom in").click()
        assert reached.inner_text() != whole
        assert page.evaluate("killtest.timelineView.signal('x1') - killtest.timelineView.signal('x0')") < 2
        page.locator(".zoomed").focus()
        page.keyboard.press("0")
        assert reached.inner_text() == whole
        page.keyboard.press("+")
        page.keyboard.press("ArrowRight")
        assert reached.inner_text() != whole
        page.keyboard.press("0")
        page.locator("#timeline").hover()
        page.keyboard.down("Control")
        page.mouse.wheel(0, -200)
        page.keyboard.up("Control")
        page.wait_for_function("(whole) => document.getElementById('range').textContent !== whole", arg=whole)
        assert "/product/1" in page.locator("table[aria-label=Faults]").inner_text()


def test_hovering_a_bar_tells_of_it(chromium: Browser, trial_page: Path) -> None:
    with opened(chromium, trial_page) as page:
        drawn(page, "timeline")
        box = page.locator("#timeline canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 80)
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert "incarnation" in page.locator("#vg-tooltip-element").inner_text()


def test_a_command_is_copied_or_else_selected(chromium: Browser, campaign: Path) -> None:
    wanted = 'killtest run naive --fault "after:0.5 KILL"'
    with opened(chromium, campaign / "index.html", "#subject=naive&group=mtbf-0.5") as page:
        page.evaluate(
            "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => {window.got = t}}})"
        )
        page.get_by_role("button", name="Copy the command").click()
        page.wait_for_function("window.got !== undefined")
        assert page.evaluate("window.got") == wanted
        assert page.get_by_role("button", name="Copy the command").inner_text() == "Copied"
    with opened(chromium, campaign / "index.html", "#subject=naive&group=mtbf-0.5") as page:
        page.evaluate(
            "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async () => {throw Error()}}})"
        )
        page.get_by_role("button", name="Copy the command").click()
        page.wait_for_function("getSelection().toString() !== ''")
        assert page.evaluate("getSelection().toString()") == wanted


def test_what_a_crawler_wrote_is_text_and_nothing_else(chromium: Browser, campaign: Path, trial_page: Path) -> None:
    with opened(chromium, campaign / "index.html") as page:
        assert page.evaluate("window.broken") is None
        assert page.locator("main img").count() == 0
        page.get_by_label("Subject", exact=True).select_option(EVIL)
        assert shown(page) == ["start-KILL-7"]
        assert page.locator("table.trials tbody tr td:nth-child(2)").inner_text() == EVIL
    with opened(chromium, trial_page) as page:
        drawn(page, "timeline")
        assert EVIL in page.locator("main ul").filter(has_text="lost").inner_text()
        assert page.evaluate("killtest.data.requests.paths").count(EVIL) == 1
        assert page.evaluate("window.broken") is None


def test_map_goes_down_to_the_step_by_mouse_and_by_keys(chromium: Browser, explored: Path) -> None:
    with opened(chromium, explored) as page:
        detail = page.locator(".detail").first
        assert "Step 20: write " + EVIL in detail.inner_text()  # the first that fails
        cells = page.locator(".map").first.locator("button")
        assert cells.count() == 40
        cells.nth(4).click()
        text = detail.inner_text()
        for told in (
            "Step 5: write crawl.db",
            "120",
            "24 bytes",
            "after /product/N",
            "20.5 kB",
            "syscall:write#5 KILL",
        ):
            assert told in text
        page.keyboard.press("ArrowRight")
        assert "Step 6" in detail.inner_text()
        assert "20.5 kB" in detail.inner_text()  # the same state, whose files stand at its first point
        assert page.url.endswith("#k=6")
        page.keyboard.press("ArrowDown")
        assert "Step 6:" not in detail.inner_text()
        page.keyboard.press("End")
        assert "Step 40" in detail.inner_text()
        page.get_by_role("button", name="Next that fails").first.click()
        page.get_by_role("button", name="Next that fails").first.click()
        assert "crash loop" in detail.inner_text()
        assert page.evaluate("window.broken") is None


def test_other_points_become_a_map_for_each_model(chromium: Browser, explored: Path) -> None:
    with opened(chromium, explored, "#map=2&k=2") as page:
        titles = page.locator("main > h2").all_inner_texts()
        assert [one.partition("(")[2] for one in titles] == ["", "ordered)", "torn)"]
        assert "Step 2" in page.locator(".detail").nth(2).inner_text()
        assert "torn bytes\n512" in page.locator(".detail").nth(2).inner_text()
        page.locator("select[data-filter=mark]").first.select_option("confirmed")
        assert page.locator(".map").first.locator("button:not(.dim)").count() == 1


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["index", "trial", "map"])
def test_axe_has_no_serious_finding(
    chromium: Browser, campaign: Path, trial_page: Path, explored: Path, name: str, theme: str
) -> None:
    path = {"index": campaign / "index.html", "trial": trial_page, "map": explored}[name]
    with opened(chromium, path, color_scheme=theme) as page:
        drawn(page, *{"index": ("ideal", "coverage", "mtbf"), "trial": ("timeline",), "map": ()}[name])
        assert offences(page) == []


@pytest.mark.parametrize("name", ["index", "trial", "map"])
def test_a_phone_needs_no_scrolling_sideways(
    chromium: Browser, campaign: Path, trial_page: Path, explored: Path, name: str
) -> None:
    path = {"index": campaign / "index.html", "trial": trial_page, "map": explored}[name]
    with opened(chromium, path, viewport=PHONE) as page:
        drawn(page, *{"index": ("ideal", "mtbf"), "trial": ("timeline",), "map": ()}[name])
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert offences(page) == []


def test_theme_follows_the_system_until_it_is_switched(chromium: Browser, campaign: Path) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    with opened(chromium, campaign / "index.html", color_scheme="dark") as page:
        dark = page.evaluate(background)
        page.emulate_media(color_scheme="light")
        page.wait_for_function(f"(dark) => {background} !== dark", arg=dark)
        drawn(page, "ideal")
        page.get_by_label("Theme").select_option("dark")
        assert page.evaluate(background) == dark
        page.wait_for_function("document.getElementById('ideal').dataset.drawn > 1")  # the chart changed its colours


def test_everything_is_reached_by_keys_with_a_focus_that_shows(chromium: Browser, campaign: Path) -> None:
    with opened(chromium, campaign / "index.html", "#subject=naive&group=start-KILL") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert "subject=naive" in page.url  # the fragment is the filters'
        assert page.evaluate("document.activeElement.id") == "main"
        names = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            name = page.evaluate(
                "((it) => it.className || it.id || it.textContent.slice(0, 40))(document.activeElement)"
            )
            if not page.evaluate(
                "document.activeElement === document.body"
            ):  # the end of the page, and on to its start
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", name
            names.add(name)
        assert {"cell", "filter-subject", "filter-finding", "clear", "Copy"} <= names


def test_a_trial_without_readable_evidence_says_so(chromium: Browser, tmp_path: Path) -> None:
    line = failed(faults=[fault()])
    folder = write_evidence(tmp_path, line)
    (folder / "site.jsonl").write_text("{torn\n")
    write_pages(tmp_path, [line])
    with opened(chromium, folder / "index.html") as page:
        assert "site.jsonl, line 1: not JSON" in page.locator(".alarm").inner_text()
        drawn(page, "timeline")
