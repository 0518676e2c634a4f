"""Another wall clock for a subject: libfaketime from its wheel, preloaded into the subject's processes.

Only an offset, never another speed, and never for the monotonic clock: with that faked too, waits such as
`threading.Event.wait(1)` hang. Statically linked programs keep the real clock.
"""

import importlib.util
from pathlib import Path


def library() -> Path | None:
    """The library to preload; None when the extra `explore` is not installed."""
    found = importlib.util.find_spec("libfaketime")
    places = found.submodule_search_locations if found else None
    libraries = sorted(Path(places[0]).rglob("libfaketime*.so*")) if places else []
    # libfaketimeMT is for programs with threads, and right for all.
    return next((path for path in libraries if "MT" in path.name), libraries[0] if libraries else None)


def ahead(seconds: float) -> dict[str, str]:
    """Environment that sets a process's wall clock so many seconds ahead; empty when it can't be done."""
    preload = library()
    if preload is None or not seconds:
        return {}
    return {
        "LD_PRELOAD": str(preload),
        "FAKETIME": f"{seconds:+g}s",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def beside(env: dict[str, str], moved: dict[str, str]) -> dict[str, str]:
    """The environment with what moves the clock behind libraries that a subject preloads itself."""
    own, ours = env.get("LD_PRELOAD", ""), moved.get("LD_PRELOAD", "")
    return env | {"LD_PRELOAD": f"{own}:{ours}"} if ours and own and own != ours else env
