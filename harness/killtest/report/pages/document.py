"""A page as one HTML document: styles, scripts and data inside it, nothing fetched from anywhere.

What a crawler wrote may stand in the data (keys, paths, names). It is put into the page as JSON in which no character
means anything to HTML, and the scripts beside this file make texts of it, never markup.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from typing import Any

import msgspec

# No connection of any kind, whatever a page is made to hold. Vega compiles its expressions, hence unsafe-eval.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' 'self' file:; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
BASIC_SCRIPTS = ("dom.js", "theme.js", "copy.js")
_MEANT_BY_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class Document:
    """What a page is made of.

    `scripts` are names of files beside this one, run in that order; `linked` are addresses, relative to the page, of
    scripts that several pages share; `kept` are whole scripts by id, which lie in the page as texts until one of the
    others runs them. `data` is anything that becomes JSON; the scripts find it as `killtest.data`.
    """

    title: str
    data: Any
    scripts: Sequence[str]
    linked: Sequence[str] = ()
    kept: Mapping[str, str] = field(default_factory=dict)


def html(document: Document) -> str:
    """The page as text."""
    linked = "".join(f'<script src="{escape(address)}"></script>\n' for address in document.linked)
    scripts = [asset(name) for name in (*BASIC_SCRIPTS, *document.scripts)]
    inlined = "".join(f"<script>\n{script_text(script)}\n</script>\n" for script in scripts)
    kept = "".join(
        f'<script type="text/plain" id="{escape(name)}">{script_text(script)}</script>\n'
        for name, script in document.kept.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(document.title)}</title>
<style>
{asset("page.css")}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><div id="trail"></div><div id="theme"></div></header>
<main id="main" tabindex="-1"><noscript><p>This page draws itself with JavaScript, which is off. The same figures are
in summary.md and trials.jsonl of the campaign's folder.</p></noscript></main>
<script type="application/json" id="data">{json_text(document.data)}</script>
{linked}{kept}{inlined}</body>
</html>
"""


def json_text(data: Any) -> str:
    """JSON that can stand inside a script element: what HTML would read is written as an escape."""
    text = msgspec.json.encode(data).decode()
    for character, written in _MEANT_BY_HTML.items():
        text = text.replace(character, written)
    return text


def script_text(script: str) -> str:
    """A script that can stand inside a script element; in our own and Vega's the words occur in strings only."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def asset(name: str) -> str:
    """The text of a file beside this one."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")
