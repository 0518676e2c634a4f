"""GitHub annotations: breaches as workflow commands, `::error title=…::…`.

The escapes are those of the runner's toolkit: % CR LF in the message, and : , besides in a property. Left out, a
line break ends the command, and a comma begins another property.
"""

from killtest.gate.breach import Breach, words
from killtest.gate.judgement import Judgement


def annotations(judgement: Judgement, folder: str) -> list[str]:
    """One workflow command per breach; FAIL and UNKNOWN both fail the step, so both are errors."""
    return [_command(breach, folder) for breach in judgement.breaches]


def _command(breach: Breach, folder: str) -> str:
    title = f"killtest gate: {breach.subject}, {breach.what}"
    return f"::error title={_property(title)}::{_message(words(breach, folder))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
