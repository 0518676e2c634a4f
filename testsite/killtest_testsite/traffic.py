"""Who is connected, which requests are open, how many have arrived, and when the armed trigger strikes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gevent.event import Event as Wake

from .elders import Elders
from .events import Due, Emit, FirstRequest, Gone, HoldExpired, Misbehaved, OpenRequest
from .gate import Gate
from .hangup import HangupLook, HangupWatch
from .hooks import PATH as HOOK
from .hooks import Delivery
from .requestlog import Kind, LogLine, Outcome, RequestLog
from .sockets import FIRST_HOST, Address
from .stock import Stock
from .trigger import Trigger


@dataclass(slots=True, eq=False)
class Tally:
    """Requests since an incarnation began, its own and those of its peers: for pages in all, and by path.

    Pictures and the webhook are no pages, but they count by path, so that a fault can wait for one.
    """

    pages: int = 0
    by_path: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True, eq=False)
class Incarnation:
    """One lifetime of the crawler, or of one of several copies side by side, as the site sees it."""

    number: int
    tally: Tally = field(default_factory=Tally)
    begun: bool = False


@dataclass(slots=True, eq=False)
class Connection:
    """A connection from `client` to our address `site`.

    It belongs to the incarnation that was current when it was accepted, unless an elder holds the client's side.
    """

    number: int
    fd: int
    client: Address
    site: Address
    incarnation: Incarnation
    hung_up: HangupLook
    gone: bool = False
    wake: Wake = field(default_factory=Wake)
    closed: Wake = field(default_factory=Wake)
    exchange: Exchange | None = None


@dataclass(slots=True, eq=False)
class Exchange:
    """A request and its answer, from arrival to the last byte."""

    seq: int
    conn: Connection
    method: str
    path: str
    kind: Kind
    n: int | None
    path_n: int | None
    product: int | None
    key: str | None
    version: int | None
    arrived_s: float
    late: bool
    status: int | None = None
    bytes: int = 0
    held_s: float | None = None
    sent_s: float | None = None
    misbehaviour: tuple[str, ...] = ()
    hook: Delivery | None = None


class Traffic:
    """The site's books. Every method is synchronous: nothing happens between its first and its last line."""

    def __init__(self, stock: Stock, gate: Gate, log: RequestLog, emit: Emit, clock: Callable[[], float]) -> None:
        self.gate, self.watch = gate, HangupWatch()
        self.connections: dict[int, Connection] = {}
        self.open: dict[int, Exchange] = {}
        self.incarnation = Incarnation(0)
        self.elders = Elders()
        self._incarnations = {0: self.incarnation}
        self.requests = self.other = 0
        self._stock, self._log, self._emit, self._clock = stock, log, emit, clock
        self._armed: Trigger | None = None
        self._seq = self._connected = self._dues = 0
        gate.before_release = self.watch.look
        gate.expired = lambda: emit(HoldExpired(self._clock()))

    def connect(self, fd: int, client: Address, site: Address) -> Connection:
        """A client has been accepted on our address `site`."""
        self._connected += 1
        number = self.elders.incarnation_of(client, site)
        incarnation = self.incarnation if number is None else self._incarnations[number]
        conn = Connection(self._connected, fd, client, site, incarnation, HangupLook(fd))
        self.connections[conn.number] = conn
        return conn

    def disconnect(self, conn: Connection) -> None:
        """The connection is closed on this side."""
        self.connections.pop(conn.number, None)
        conn.closed.set()

    def arrive(self, conn: Connection, method: str, path: str, hook: Delivery | None = None) -> Exchange:
        """A request has been read: count it, and strike if it is the one that was waited for.

        `hook` is what it delivers at the webhook, whose body has arrived with it.
        """
        exchange = self._enter(conn, method, path, hook)
        incarnation = conn.incarnation
        if not incarnation.begun:
            incarnation.begun = True
            self._emit(FirstRequest(incarnation.number, exchange.arrived_s))
        if self.gate.frozen:
            exchange.held_s = exchange.arrived_s
        if self._armed is not None and self._armed.kind == "request":
            self._strike_if_due(exchange)
        return exchange

    def begin_answer(self, exchange: Exchange) -> None:
        """The answer is about to be made: it shows the version that is served now."""
        if exchange.product is not None:
            exchange.version = self._stock.version(exchange.product)

    def misbehaved(self, exchange: Exchange, name: str, is_first: bool) -> None:
        """The answer goes wrong on purpose; the first time that what is called `name` happens is told."""
        exchange.misbehaviour += (name,)
        if is_first:
            incarnation = exchange.conn.incarnation.number
            self._emit(Misbehaved(self._clock(), exchange.seq, exchange.path, incarnation, name))

    def stop_at(self, exchange: Exchange) -> int | None:
        """How many bytes of the body of this answer may go out before `partial` strikes; None when all may."""
        armed = self._armed
        if armed is None or armed.kind != "partial" or not self._is_waited_for(armed, exchange):
            return None
        return armed.at_bytes

    def stopped(self, exchange: Exchange) -> None:
        """So much of the answer has gone out as `stop_at` said: strike, unless that trigger is gone by now."""
        if self._armed is not None and self._armed.kind == "partial":
            self._strike_if_due(exchange)

    def answered(self, exchange: Exchange) -> None:
        """The last byte of the answer was handed to the kernel, and the client was there."""
        exchange.sent_s = self._clock()
        self.end(exchange, "sent")
        if self._armed is not None and self._armed.kind == "response":
            self._strike_if_due(exchange)

    def end(self, exchange: Exchange, outcome: Outcome) -> None:
        """The request is over: write its line."""
        if self.open.pop(exchange.seq, None) is None:
            return
        exchange.conn.exchange = None
        self._log.add(_line(exchange, outcome, self._clock()))

    def gone(self, conn: Connection) -> None:
        """The client of a waiting request hung up: wake whoever waits for it."""
        conn.gone = True
        conn.wake.set()
        if self.gate.frozen and conn.exchange is not None:
            self._emit(Gone(conn.exchange.seq, self._clock()))
            self.end(conn.exchange, "held" if conn.exchange.bytes == 0 else "broken")

    def begin(self, number: int, peers: Sequence[int] = ()) -> int:
        """Begin an incarnation: its counter is 0, the armed trigger is gone. Returns all page requests.

        The incarnations `peers` run on beside it: from here on their requests count together with its own.
        """
        self.incarnation = self._incarnations[number] = Incarnation(number)
        for peer in peers:
            self._incarnations[peer].tally = self.incarnation.tally
        self._armed = None
        return self.requests

    def arm(self, trigger: Trigger) -> bool:
        """Wait for a trigger, instead of any other. A request that is being held already strikes at once: true."""
        self._armed = trigger
        if trigger.kind == "request" and self.gate.frozen:
            for exchange in list(self.open.values()):
                self._strike_if_due(exchange)
        return self._armed is None

    def go_to_next(self) -> None:
        """Open the gate, and shut it at the next page request that comes."""
        self._armed = Trigger("request", self.incarnation.tally.pages + 1)
        self.gate.release()

    def disarm(self) -> None:
        """Forget the armed trigger."""
        self._armed = None

    def freeze(self) -> None:
        """A fault is due: from now on nothing is sent, and every open request is held."""
        self.gate.freeze()
        now_s = self._clock()
        for exchange in self.open.values():
            if exchange.held_s is None:
                exchange.held_s = now_s

    def release(self, heard: int | None) -> None:
        """Open the gate, unless more than `heard` triggers have come due so far: it is shut for those now."""
        if heard is None or heard >= self._dues:
            self.gate.release()

    def in_flight(self) -> list[OpenRequest]:
        """The requests that have arrived and are not over."""
        return [
            OpenRequest(e.seq, e.conn.number, e.path, e.conn.incarnation.number, self.gate.frozen)
            for e in self.open.values()
        ]

    def sync(self) -> int:
        """Write the log out, with a line for each open request; returns the lines written so far."""
        for exchange in self.open.values():
            self._log.add(_line(exchange, "open", None))
        self._log.flush()
        return self._log.lines

    def _enter(self, conn: Connection, method: str, path: str, hook: Delivery | None) -> Exchange:
        """A new entry in the books."""
        self._seq += 1
        layout = self._stock.layout
        page = layout.page(path) if method == "GET" else None
        product = layout.pictured(path) if method == "GET" else None
        is_counted = page is not None or product is not None or (method == "POST" and path == HOOK)
        n, path_n = self._count(conn.incarnation, path, page is not None) if is_counted else (None, None)
        exchange = Exchange(
            seq=self._seq,
            conn=conn,
            method=method,
            path=path,
            kind="other" if page is None else "page",
            n=n,
            path_n=path_n,
            product=product,
            key=None if product is None else self._stock.catalogue.key(product),
            version=None if product is None else self._stock.version(product),
            arrived_s=self._clock(),
            late=conn.incarnation.tally is not self.incarnation.tally,
            hook=hook,
        )
        self.other += page is None
        self.open[exchange.seq] = conn.exchange = exchange
        return exchange

    def _count(self, incarnation: Incarnation, path: str, is_page: bool) -> tuple[int | None, int]:
        tally = incarnation.tally
        tally.by_path[path] += 1
        if not is_page:
            return None, tally.by_path[path]
        self.requests += 1
        tally.pages += 1
        return tally.pages, tally.by_path[path]

    def _is_waited_for(self, trigger: Trigger, exchange: Exchange) -> bool:
        is_ours = exchange.conn.incarnation.tally is self.incarnation.tally
        return is_ours and trigger.strikes(exchange.path, exchange.n, exchange.path_n)

    def _strike_if_due(self, exchange: Exchange) -> None:
        trigger, conn = self._armed, exchange.conn
        if trigger is None or not self._is_waited_for(trigger, exchange):
            return
        self._armed = None
        self._dues += 1
        self.freeze()
        self._emit(
            Due(
                t_s=self._clock(),
                seq=exchange.seq,
                conn=conn.number,
                client=conn.client,
                site=conn.site,
                path=exchange.path,
                incarnation=conn.incarnation.number,
                n=exchange.n,
                open=self.in_flight(),
            )
        )


def _line(exchange: Exchange, outcome: Outcome, ended_s: float | None) -> LogLine:
    conn = exchange.conn
    return LogLine(
        seq=exchange.seq,
        incarnation=conn.incarnation.number,
        conn=conn.number,
        peer=conn.client[1],
        method=exchange.method,
        path=exchange.path,
        kind=exchange.kind,
        n=exchange.n,
        key=exchange.key,
        version=exchange.version,
        status=exchange.status if exchange.bytes else None,
        bytes=exchange.bytes,
        arrived_s=exchange.arrived_s,
        held_s=exchange.held_s,
        sent_s=exchange.sent_s,
        ended_s=ended_s,
        outcome=outcome,
        late=exchange.late,
        host=None if conn.site[0] == FIRST_HOST else conn.site[0],
        misbehaviour=exchange.misbehaviour,
        hook=exchange.hook,
    )
