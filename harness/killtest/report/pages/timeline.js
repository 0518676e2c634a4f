"use strict";
/* The course of one trial over time: incarnations, requests, faults, rows. It zooms by wheel, drag, keys and buttons. */
(() => {
  const { data, el, number, colour } = killtest;
  const LIFT = { first: 0, repeated: -0.18, late: 0.18 };
  const seconds = (value, digits = 3) => (value === null || value === undefined ? "–" : `${number(value, digits)} s`);

  const requests = data.requests.at_s.map((at_s, index) => {
    const kind = data.requests.kinds[data.requests.kind[index]], row = data.requests.incarnation[index] + LIFT[kind];
    return { at_s, kind, path: data.requests.paths[data.requests.path[index]], incarnation: data.requests.incarnation[index], low: row - 0.16, high: row + 0.16,
      status: data.requests.status[index], answer: data.requests.outcome[index], took: data.requests.took_s[index] === null ? "–" : `${(1000 * data.requests.took_s[index]).toFixed(1)} ms` };
  });
  const bars = data.incarnations.map((one) => ({ ...one, low: one.number - 0.42, high: one.number + 0.42, ended: `${one.ended_by === "fault" ? "by a fault" : "by itself"}, exit ${one.exit}`, lasted: seconds(one.ended_s - one.started_s, 2) }));
  const faults = data.faults.filter((fault) => fault.at_s !== null).map((fault) => ({ ...fault, kind: fault.is_kill ? "kill" : "other fault", flying: (fault.in_flight ?? []).join(", ") || "nothing" }));
  const flying = faults.filter((fault) => fault.in_flight?.length), kills = faults.filter((fault) => fault.is_kill);
  const rows = data.rows_after.map(([at_s, count]) => ({ at_s, rows: count }));
  const answered = data.answered.map(([at_s, count]) => ({ at_s, answered: count }));
  const end = Math.max(0.001, ...bars.map((bar) => bar.ended_s), ...requests.map((one) => one.at_s)) * 1.01;
  const most = Math.max(data.data.products ?? 1, ...rows.map((row) => row.rows ?? 0), ...answered.map((one) => one.answered));
  const count = (kind) => requests.filter((one) => one.kind === kind).length;

  const X = (title) => ({ field: "at_s", type: "quantitative", title, scale: { domainMin: { expr: "x0" }, domainMax: { expr: "x1" }, nice: false, zero: false }, axis: { grid: false, tickCount: 8 } });
  const mark = (type, more) => ({ type, clip: true, ...more });

  const above = (width) => {
    const places = bars.map((bar) => bar.number), last = Math.max(0, ...places);
    const y = { type: "quantitative", title: "incarnation", scale: { domain: [last + 0.6, -0.6], nice: false, zero: false },
      axis: { values: places, grid: false, format: "d", minExtent: 44, maxExtent: 44, domain: false, ticks: false } };
    const ticks = ["first", "repeated", "late"].filter((kind) => count(kind)).map((kind) => ({
      data: { values: requests.filter((one) => one.kind === kind) }, mark: mark("rule", { stroke: colour(kind), strokeWidth: kind === "first" ? 1 : 1.6 }),
      encoding: { x: X(null), y: { field: "low", ...y }, y2: { field: "high" },
        tooltip: [{ field: "path" }, { field: "kind" }, { field: "at_s", title: "second", format: ".3f" }, { field: "took" }, { field: "status" }, { field: "answer" }, { field: "incarnation" }] } }));
    return {
      width, height: Math.min(720, Math.max(130, 34 * (last + 1))),
      layer: [
        ...(bars.length === 0 ? [] : [{ data: { values: bars }, mark: mark("rect", { fill: colour("bar"), cornerRadius: 3 }),
          encoding: { x: { ...X(null), field: "started_s" }, x2: { field: "ended_s" }, y: { field: "low", ...y }, y2: { field: "high" },
            tooltip: [{ field: "number", title: "incarnation" }, { field: "lasted" }, { field: "requests" }, { field: "ended" }] } }]),
        ...ticks,
        ...(faults.length === 0 ? [] : [{ data: { values: faults }, mark: mark("point", { filled: true, size: 110, stroke: colour("paper"), strokeWidth: 1, opacity: 1, fill: colour("kill") }),
          encoding: { x: X(null), y: { field: "incarnation", ...y },
            shape: { field: "kind", legend: null, scale: { domain: ["kill", "other fault"], range: ["M-.7,-1 L0,-.3 .7,-1 1,-.7 .3,0 1,.7 .7,1 0,.3 -.7,1 -1,.7 -.3,0 -1,-.7Z", "diamond"] } },
            tooltip: [{ field: "planned", title: "fault" }, { field: "at_s", title: "second", format: ".3f" }, { field: "status" }, { field: "window" }, { field: "flying", title: "in flight" }] } }]),
        ...(flying.length > 0 && faults.length <= 12 && width > 520 ? [{ data: { values: flying }, mark: mark("text", { align: "left", dx: 9, fontSize: 11, fill: colour("ink") }),
          encoding: { x: X(null), y: { field: "incarnation", ...y }, text: { field: "in_flight.0" } } }] : []),
      ],
    };
  };

  const below = (width) => {
    const y = { type: "quantitative", title: "rows", scale: { domain: [0, most * 1.08], nice: false }, axis: { minExtent: 44, maxExtent: 44, tickCount: 4, format: ",d" } };
    return {
      width, height: 120,
      layer: [
        ...(data.data.products === null ? [] : [{ data: { values: [{ products: data.data.products }] }, mark: mark("rule", { strokeDash: [4, 3], color: colour("soft") }), encoding: { y: { field: "products", ...y } } }]),
        ...(answered.length === 0 ? [] : [{ data: { values: answered }, mark: mark("line", { interpolate: "step-after", color: colour("first"), strokeWidth: 1.2, strokeDash: [2, 2] }), encoding: { x: X("seconds since the trial began"), y: { field: "answered", ...y } } }]),
        { data: { values: rows }, mark: mark("line", { interpolate: "step-after", color: colour("rows"), strokeWidth: 2, invalid: "break-paths-show-domains" }), encoding: { x: X("seconds since the trial began"), y: { field: "rows", ...y } } },
        { data: { values: rows.filter((row) => row.rows !== null) }, mark: mark("point", { filled: true, color: colour("rows"), size: 42, opacity: 1 }),
          encoding: { x: X("seconds since the trial began"), y: { field: "rows", ...y }, tooltip: [{ field: "rows", format: ",d" }, { field: "at_s", title: "known since second", format: ".3f" }] } },
        ...(kills.length === 0 ? [] : [{ data: { values: kills }, mark: mark("rule", { color: colour("kill"), strokeWidth: 0.7, opacity: 0.5 }), encoding: { x: X("seconds since the trial began") } }]),
      ],
    };
  };

  const swatch = (style, words) => { const box = el("i"); box.style.cssText = style; return el("li", {}, box, words); };
  const keys = () => el("ul", { class: "keys" },
    ["first", "repeated", "late"].map((kind) => swatch(`background:var(--${kind})`, `${kind} request (${number(count(kind))})`)),
    el("li", {}, "✕ kill"), faults.some((fault) => !fault.is_kill) && el("li", {}, "◆ other fault"),
    swatch("background:var(--rows);height:3px;vertical-align:4px", "rows in the store"),
    swatch("border-top:2px dotted var(--first);height:0;vertical-align:4px", "products answered"),
    swatch("border-top:2px dashed var(--soft);height:0;vertical-align:4px", "products in the shop"));

  killtest.timeline = () => {
    let x0 = 0, x1 = end, view = null;
    const place = el("div", { id: "timeline" });
    const range = el("span", { id: "range", class: "soft", role: "status" });
    const show = () => {
      range.textContent = `${x0.toFixed(2)} to ${x1.toFixed(2)} s`;
      if (view) view.signal("x0", x0).signal("x1", x1).runAsync();
    };
    const move = (low, high) => {
      const span = Math.min(end, Math.max(0.002, high - low));
      x0 = Math.min(Math.max(0, low), end - span);
      x1 = x0 + span;
      show();
    };
    const zoom = (factor, middle = (x0 + x1) / 2) => move(middle - (middle - x0) * factor, middle + (x1 - middle) * factor);
    const shift = (share) => move(x0 + share * (x1 - x0), x1 + share * (x1 - x0));
    const all = () => move(0, end);
    const inner = (event) => {
      const box = place.getBoundingClientRect(), left = 60, wide = Math.max(1, box.width - left - 12);
      return Math.min(1, Math.max(0, (event.clientX - box.left - left) / wide));
    };
    const area = el("div", { class: "zoomed", tabindex: "0", role: "group", "aria-label": "Timeline: plus and minus zoom, arrow keys move, 0 shows all" }, place);
    area.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && !event.metaKey) return; // the page must stay scrollable
      event.preventDefault();
      zoom(Math.sign(event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, x0 + inner(event) * (x1 - x0));
    }, { passive: false });
    let from = null;
    area.addEventListener("pointerdown", (event) => { from = { x: inner(event), x0, x1 }; });
    addEventListener("pointermove", (event) => {
      if (!from || !event.buttons) { from = null; return; }
      const by = (from.x - inner(event)) * (from.x1 - from.x0);
      move(from.x0 + by, from.x1 + by);
    });
    addEventListener("pointerup", () => { from = null; });
    area.addEventListener("dblclick", (event) => zoom(0.5, x0 + inner(event) * (x1 - x0)));
    const KEYS = { "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), ArrowLeft: () => shift(-0.15), ArrowRight: () => shift(0.15), 0: all, Home: () => move(0, x1 - x0), End: () => move(end - (x1 - x0), end) };
    area.addEventListener("keydown", (event) => {
      if (KEYS[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); KEYS[event.key](); }
    });
    const label = `${bars.length} incarnations, ${number(requests.length)} page requests, ${faults.length} faults that struck; the tables below tell them one by one`;
    killtest.chart(place, label, (width) => {
      const inside = Math.max(120, width - 72);
      return { params: [{ name: "x0", value: x0 }, { name: "x1", value: x1 }], vconcat: [above(inside), below(inside)], spacing: 14, padding: { left: 2, right: 6, top: 4, bottom: 4 }, resolve: { scale: { x: "independent" } } };
    }, (drawn) => { view = drawn; killtest.timelineView = drawn; });
    show();
    const tool = (text, label, act) => el("button", { type: "button", "aria-label": label, onclick: act }, text);
    return el("figure", {},
      el("div", { class: "tools" }, tool("+", "Zoom in", () => zoom(0.5)), tool("−", "Zoom out", () => zoom(2)), tool("←", "Earlier", () => shift(-0.3)), tool("→", "Later", () => shift(0.3)), tool("All", "Show the whole trial", all), range),
      keys(), area,
      el("figcaption", {}, "Above: a bar for each incarnation, a tick for each page request, and beside each kill the page in flight. Below: what the store held after each incarnation, against the products answered by then. Ctrl and the wheel, or + and −, zoom; dragging or the arrow keys move."));
  };

  /** Show the second of a fault, with what came right before and after. */
  killtest.seconds = seconds;
})();
