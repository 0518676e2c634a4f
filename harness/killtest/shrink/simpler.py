"""Simpler forms of one fault, each of which may turn out to do as well."""

from collections.abc import Iterator

import msgspec

from killtest.plan.fault import Fault
from killtest.plan.fault_text import parse


def simpler(fault: Fault) -> Iterator[Fault]:
    """Every fault that is one step simpler, the greatest simplification of its kind first."""
    if fault.incarnation is not None:
        yield msgspec.structs.replace(fault, incarnation=None)
    shorter = msgspec.structs.replace(fault, steps=fault.steps[:1])
    # What is broken is mended all the same: such a fault says no less when it is cut.
    if len(fault.steps) > 1 and parse(shorter.text) == shorter:
        yield shorter
    for index in range(len(fault.bumps)):
        bumps = fault.bumps[:index] + fault.bumps[index + 1 :]
        if bumps or fault.steps or fault.clock_s:
            yield msgspec.structs.replace(fault, bumps=bumps)
    if fault.clock_s and (fault.bumps or fault.steps):
        yield msgspec.structs.replace(fault, clock_s=0.0)
    if fault.steps and not fault.on:
        usual = parse(f"request:1 {fault.steps[0].signal}").scope
        if fault.scope != usual:
            yield msgspec.structs.replace(fault, scope=usual)


def numbered(fault: Fault, number: int) -> Fault:
    """The same fault at that number of its trigger."""
    return msgspec.structs.replace(fault, trigger=msgspec.structs.replace(fault.trigger, n=number))
