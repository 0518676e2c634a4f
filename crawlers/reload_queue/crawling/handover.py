"""What the outer main hands to each inner main that it starts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from crawling.fingerprints import Prints

LIFELINE = "RELOAD_QUEUE_LIFELINE"  # the environment's name for the descriptor of the pipe


@dataclass(frozen=True)
class Handover:
    """`owner` names the outer main, `generation` counts its inner mains from 1, `reloads` those started by a change.

    `prints`: what the code looked like before any of it was imported. Whatever changes later differs from that,
    an edit in the first second included.
    """

    owner: str
    generation: int
    reloads: int
    prints: Prints

    @property
    def token(self) -> str:
        """The name of this generation in the queue."""
        return f"{self.owner}:{self.generation}"

    def line(self) -> bytes:
        """For the pipe."""
        return json.dumps(asdict(self)).encode() + b"\n"


def parse(line: bytes) -> Handover:
    """From the pipe."""
    told: dict[str, Any] = json.loads(line)
    told["prints"] = {path: tuple(about) for path, about in told["prints"].items()}
    return Handover(**told)
