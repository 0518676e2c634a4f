"""Signals to the subject: whom they go to, who was paused, and who is let go on."""

import signal
from collections.abc import Callable

from killtest.process import process_tree as tree
from killtest.process.kin import Kin
from killtest.process.process_tree import Identity


class Blows:
    """Signals to the subject, each with what it did. Processes that a STOP paused stay so until a CONT."""

    def __init__(self, kin: Kin) -> None:
        """Signal the processes of `kin`."""
        self._kin = kin
        self._paused: set[Identity] = set()

    def targets(self, number: int, scope: Callable[[], list[Identity]], parked: int | None) -> list[Identity]:
        """Whom of `scope` that signal goes to, while the thread `parked` waits for us.

        For SIGKILL and SIGSTOP they have been stopped, so that none can fork away.
        """
        if number == signal.SIGCONT:
            return [one for one in self._paused if not tree.is_dead(one)]
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            return scope()
        return tree.stop_until_still(scope, parked=parked)

    def send(self, targets: list[Identity], number: int) -> list[Identity]:
        """Signal them, who come from `targets`; those that it reached."""
        # The youngest first: the death of a parent would orphan a stopped process group, and the kernel wakes
        # such a group with SIGHUP and SIGCONT (setpgid(2)).
        living = [one for one in reversed(targets) if not tree.is_dead(one)]
        if number == signal.SIGSTOP:
            # They stand still already; a second SIGSTOP would stay pending until they are continued.
            self._paused |= set(living)
            return living
        if number == signal.SIGCONT:
            self._paused -= set(targets)
        return [one for one in living if tree.send(one, number)]

    def spare(self, targets: list[Identity]) -> None:
        """They were stopped for a blow that does not fall: let them go on, but for the paused."""
        for one in set(targets) - self._paused:
            tree.send(one, signal.SIGCONT)

    def hold_still(self) -> int:
        """Stop every process of the subject; how many there are."""
        return len(tree.stop_until_still(self._kin.living))

    def go_on(self) -> int:
        """Let all but the paused run again; how many do."""
        return sum(tree.send(one, signal.SIGCONT) for one in set(self._kin.living()) - self._paused)
