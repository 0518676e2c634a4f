"""Several addresses of the site: which can be had, and one port for all of them."""

import errno
import socket
import sys
from contextlib import suppress
from typing import Any

import pytest
from killtest.conduct import site
from killtest.errors import UsageError
from killtest.plan import campaign
from killtest.plan.manifest import SiteNeeds
from killtest_testsite import doors


def opened(addresses: int, port: int = 0) -> list[tuple[str, int]]:
    """Where servers listen; they are stopped again."""
    servers = doors.open_doors("127.0.0.1", port, addresses, None, None)  # type: ignore[arg-type] # nobody is served
    for server in servers:
        server.stop(timeout=0)
    return [(server.own_host, server.server_port) for server in servers]


def test_every_address_has_the_port_of_the_first() -> None:
    found = opened(3)
    assert [host for host, _ in found] == ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    assert len({port for _, port in found}) == 1
    assert found[0][1] > 0


class Rival:
    """Takes each port that was given out on 127.0.0.1 on 127.0.0.3 as well, `times` times, before the site can."""

    def __init__(self, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[socket.socket] = []
        self.tries = 0
        self._times, self._listener = times, doors.listener
        monkeypatch.setattr(doors, "listener", self.listener)

    def listener(self, address: tuple[str, int]) -> Any:
        if address[0] == "127.0.0.3" and len(self.taken) < self._times:
            self.tries += 1
            with suppress(OSError):  # another test has it: taken as well
                self.taken.append(socket.create_server(address))
        return self._listener(address)

    def close(self) -> None:
        for one in self.taken:
            one.close()


def test_a_port_that_is_taken_on_a_later_address_is_given_up_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    rival = Rival(3, monkeypatch)
    found = opened(4)
    rivals = [one.getsockname()[1] for one in rival.taken]
    rival.close()
    assert len(rivals) == 3
    assert found[0][1] not in rivals
    assert {port for _, port in found} == {found[0][1]}


def test_it_gives_up_after_twenty_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    rival = Rival(1000, monkeypatch)
    with pytest.raises(OSError, match=r"in use: 127\.0\.0\.3:") as caught:
        opened(3)
    rival.close()
    assert (caught.value.errno, rival.tries) == (errno.EADDRINUSE, 20)


def test_a_port_that_was_asked_for_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (_, port), *_ = opened(3)
    rival = Rival(1000, monkeypatch)
    with pytest.raises(OSError, match="in use"):
        opened(3, port)
    tries = len(rival.taken)
    rival.close()
    assert tries == 1


@pytest.mark.parametrize("number", [0, 17, -1])
def test_a_number_of_addresses_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"--addresses {number}: give 1 to 16, for 127.0.0.1 to 127.0.0.16"):
        doors.check("127.0.0.1", number)
    with pytest.raises(UsageError, match=r"mine: site: Expected `int` [<>]= 1"):
        campaign.site_of(SiteNeeds(), {"addresses": number}, "mine")


def test_addresses_count_from_the_first_of_loopback() -> None:
    with pytest.raises(ValueError, match=r"--addresses 2 counts from 127.0.0.1: leave out --host 0.0.0.0"):
        doors.check("0.0.0.0", 2)
    doors.check("0.0.0.0", 1)


def test_elsewhere_than_on_linux_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ValueError, match="only Linux answers on all of 127/8"):
        doors.check("127.0.0.1", 4)
    with pytest.raises(UsageError, match=r"\[site\] addresses = 4: only Linux answers on all of 127/8"):
        site.arguments(SiteNeeds(addresses=4), 5.0, "site.jsonl")  # type: ignore[arg-type]
    doors.check("127.0.0.1", 1)
    assert "--addresses=1" in site.arguments(SiteNeeds(), 5.0, "site.jsonl")  # type: ignore[arg-type]
