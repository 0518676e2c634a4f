"""Vega, Vega-Lite and vega-embed as one script, out of a wheel: the page needs no network for its charts."""

from functools import cache

from killtest.report.frame import require_report_packages

# Of the three, the pages call one.
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_script() -> str:
    """The script (about 0.9 MB); it defines `vegaEmbed`. UsageError without the `report` extra.

    vl-convert bundles them as a module. Inside a function its many short names stay its own.
    """
    require_report_packages()
    import vl_convert

    return f"(() => {{\n{vl_convert.javascript_bundle(_SNIPPET)}\n}})();"
