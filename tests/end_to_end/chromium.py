"""A real Chromium, without a head, for the tests of pages: nothing may leave it, and it may complain of nothing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")
WITHOUT = "no Chromium on this machine: apt install chromium"
# --no-sandbox: Chromium refuses to run as root with it. The others keep it from calling home.
SWITCHES = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser, closed at the end."""
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=PROGRAM, args=SWITCHES)
        try:
            yield found
        finally:
            found.close()


@contextmanager
def opened(chromium: Browser, path: Path, fragment: str = "", **context: Any) -> Iterator[Page]:
    """The page at `path`, ready; it must say nothing on the console until the end, and ask for nothing but files."""
    found = chromium.new_context(**({"viewport": {"width": 1280, "height": 900}} | context))
    page = found.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("request", lambda request: request.url.startswith(("file:", "data:")) or complaints.append(request.url))
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    try:
        page.goto(path.as_uri() + fragment)
        page.wait_for_selector("html[data-ready=yes]")
        yield page
        assert not complaints, "\n".join(complaints)
    finally:
        found.close()


def drawn(page: Page, *names: str) -> None:
    """Wait until each of these charts is drawn."""
    for name in names:
        page.locator(f"#{name}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#{name}[data-drawn] canvas")


def offences(page: Page) -> list[str]:
    """What axe finds that is serious or critical."""
    import axe_playwright_python

    script = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
    found = page.evaluate("async (script) => { (0, eval)(script); return await axe.run(document); }", script)
    assert found["passes"], "axe looked at nothing"
    return [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
