"""Carries out the harness's commands on the running site."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import gevent

from . import commands, served
from .fence import fence
from .misbehaviour import Misbehaviour
from .server import Server
from .stock import Stock
from .trigger import Trigger

Reply = dict[str, Any]

# So many rows of the truth are made before other requests get their turn.
_ROWS_AT_ONCE = 100


class Desk:
    """Turns a command into its effect and the fields of its reply."""

    def __init__(self, servers: Sequence[Server], stock: Stock) -> None:
        self._servers, self._stock = servers, stock
        serving = servers[0].serving  # which all of them share
        self._traffic, self._misdeeds = serving.traffic, serving.misdeeds
        self._actions: dict[type, Callable[[Any], Reply | None]] = {
            commands.Incarnation: lambda command: {"requests": self._traffic.begin(command.number, command.peers)},
            commands.Arm: self._arm,
            commands.Next: lambda _: self._traffic.go_to_next(),
            commands.Elders: lambda command: self._traffic.elders.know(command.processes),
            commands.Disarm: lambda _: self._traffic.disarm(),
            commands.Freeze: self._freeze,
            commands.Release: lambda command: self._traffic.release(command.due),
            commands.Open: lambda _: {"open": self._traffic.in_flight()},
            commands.Fence: lambda command: asdict(fence(self._servers, command.deadline_s)),
            commands.Stats: self._stats,
            commands.Bump: lambda command: {"version": self._stock.bump(command.path)},
            commands.Truth: self._truth,
            commands.ForgetKeys: lambda _: serving.hooks.forget_all(),
            commands.Sync: lambda _: {"lines": self._traffic.sync()},
            commands.Misbehave: self._misbehave,
        }

    @staticmethod
    def waits(command: commands.Command) -> bool:
        """Whether the command may take a while, so that others must not queue behind it."""
        return isinstance(command, commands.Fence | commands.Truth)

    def carry_out(self, command: commands.Command) -> Reply:
        """Do what the command says; ValueError or OSError when it can't be done."""
        return self._actions[type(command)](command) or {}

    def _arm(self, command: commands.Arm) -> Reply:
        return {"due": self._traffic.arm(Trigger(command.kind, command.n, command.path, command.at_bytes))}

    def _freeze(self, _: commands.Freeze) -> Reply:
        self._traffic.freeze()
        return {"open": self._traffic.in_flight()}

    def _stats(self, _: commands.Stats) -> Reply:
        traffic = self._traffic
        return {
            "requests": traffic.requests,
            "other": traffic.other,
            "in_incarnation": traffic.incarnation.tally.pages,
            "incarnation": traffic.incarnation.number,
        }

    def _truth(self, command: commands.Truth) -> Reply:
        rows, lists = [], {"lists": served.lists(self._stock)} if command.effects else {}
        for row in served.with_effects(self._stock) if command.effects else self._stock.truth():
            rows.append(row)
            if len(rows) % _ROWS_AT_ONCE == 0:
                gevent.sleep(0)
        return {"minimum": self._stock.layout.minimum, **lists, "rows": rows}

    def _misbehave(self, command: commands.Misbehave) -> None:
        if command.times == 0:
            self._misdeeds.forget(command.path)
            return
        misdeed = Misbehaviour(
            kind=command.kind,
            at_bytes=command.at_bytes,
            delay_s=command.delay_s,
            status=command.status,
            retry_after_s=command.retry_after_s,
            bytes_per_s=command.bytes_per_s,
            to=command.to,
        )
        self._misdeeds.plan(command.path, misdeed, command.times, command.name)
