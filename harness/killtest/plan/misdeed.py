"""What the site does wrong on purpose, as text and as data: `KIND:/PATH=HOW[*TIMES]` (docs/faults.md)."""

import re
from typing import Any

import msgspec

from killtest.plan import duration

# What stands behind the `=`, an example of each kind.
_EXAMPLES = {
    "latency": "latency:/product/6=1.2 or latency:/product/*=0.1..0.8",
    "status": "status:/product/6=503*2",
    "reset": "reset:/product/6=start*1 or reset:/product/6=4000",
    "truncate": "truncate:/product/6=100*1",
    "slow": "slow:/product/6=200",
    "redirect": "redirect:/product/6=/product/7*1",
}
_HOW = {
    "latency": rf"({duration.SECONDS})(?:\.\.({duration.SECONDS}))?",
    "status": "([45][0-9][0-9])",
    "reset": "(start|[0-9]{1,9})",
    "truncate": "([0-9]{1,9})",
    "slow": "([1-9][0-9]{0,8})",
    "redirect": r"(/[!-)+-~]*)",
}
KINDS = tuple(_EXAMPLES)
# The site waits no longer.
_LONGEST_S = 3600.0


class Misdeed(msgspec.Struct, frozen=True):
    """One kind of misbehaviour at the pages of `path` (with `*` for any characters), `times` times at each of them.

    `times` None: always. `delay_s` (latency) are the least and the most seconds before an answer begins, `status` that
    of an error page, which may say `retry_after_s`; `at_bytes` (truncate, reset) is how much of the body is sent, None:
    not even the headers; `bytes_per_s` (slow) the speed of the body; `to` (redirect) another path.
    """

    kind: str
    path: str
    times: int | None = None
    delay_s: tuple[float, float] | None = None
    status: int | None = None
    retry_after_s: int | None = None
    at_bytes: int | None = None
    bytes_per_s: int | None = None
    to: str | None = None

    @property
    def text(self) -> str:
        """The misbehaviour as it is written in a schedule."""
        times = "" if self.times is None else f"*{self.times}"
        after = "" if self.retry_after_s is None else f" retry_after={self.retry_after_s}"
        return f"{self.kind}:{self.path}={self._how}{times}{after}"

    @property
    def _how(self) -> str:
        if self.delay_s is not None:
            low_s, high_s = self.delay_s
            return duration.text(low_s) + ("" if low_s == high_s else f"..{duration.text(high_s)}")
        if self.kind == "reset":
            return "start" if self.at_bytes is None else str(self.at_bytes)
        given = (self.status, self.at_bytes, self.bytes_per_s, self.to)
        return next(str(one) for one in given if one is not None)

    @property
    def order(self) -> dict[str, Any]:
        """What the site is told (`misbehave` in docs/site-protocol.md)."""
        fields = {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}
        return fields | {"times": self.times, "name": self.text}

    def matches(self, path: str) -> bool:
        """Whether that path is one of its pages."""
        pattern = ".*".join(re.escape(part) for part in self.path.split("*"))
        return re.fullmatch(pattern, path) is not None


def is_misdeed(word: str) -> bool:
    """Whether the word is meant for a misbehaviour."""
    return word.partition(":")[0] in KINDS and ":" in word


def parse(word: str, adverbs: list[str]) -> Misdeed:
    """The misbehaviour of that word, with the words behind it; ValueError says in a sentence what is wrong."""
    kind = word.partition(":")[0]
    found = re.fullmatch(rf"{kind}:(/[^\s,=]*)={_HOW[kind]}(?:\*([1-9][0-9]{{0,8}}))?", word)
    if found is None:
        hint = "; it stands alone, a fault each" if word.endswith(",") else ""
        raise ValueError(f'"{word}" is not understood{hint}; written as {_EXAMPLES[kind]}')
    path, *how, times = found.groups()
    after_s = _retry_after_s(kind, adverbs)
    return Misdeed(kind, path, int(times) if times else None, retry_after_s=after_s, **_fields(kind, how))


def _fields(kind: str, how: list[str]) -> dict[str, Any]:
    if kind == "latency":
        low_s, high_s = float(how[0]), float(how[1] or how[0])
        if not low_s <= high_s <= _LONGEST_S:
            raise ValueError(f"a latency goes from the least to the most seconds, {_LONGEST_S:g} at the most")
        return {"delay_s": (low_s, high_s)}
    if kind == "redirect":
        return {"to": how[0]}
    name = {"status": "status", "slow": "bytes_per_s"}.get(kind, "at_bytes")
    return {name: None if how[0] == "start" else int(how[0])}


def _retry_after_s(kind: str, adverbs: list[str]) -> int | None:
    if not adverbs:
        return None
    found = re.fullmatch(r"retry_after=([0-9]{1,9})", adverbs[0])
    if len(adverbs) > 1 or found is None or kind != "status":
        wrong = adverbs[-1] if len(adverbs) > 1 else adverbs[0]
        raise ValueError(
            f'"{wrong}" can\'t stand behind a misbehaviour, which stands alone; a status may say retry_after=SECONDS'
        )
    return int(found[1])
