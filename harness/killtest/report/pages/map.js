"use strict";
/* Maps of points: a cell for each, in order; the chosen one is told in full. #map=0&k=37&file=crawl.db&mark=confirmed */
(() => {
  const { data, el, number } = killtest;
  const main = document.getElementById("main");
  const MARKS = {
    PASS: ["", "recovers"], confirmed: ["✕", "fails, as a true kill does"], derived: ["!", "fails, not tried by a true kill"],
    false: ["~", "fails as derived, not by a true kill"], unknown: ["?", "not known: the kill did not strike"],
  };
  const state = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const remember = (changes) => {
    const next = Object.entries({ ...state(), ...changes }).filter(([, value]) => value !== "" && value !== null && value !== undefined);
    history.replaceState(null, "", `#${new URLSearchParams(next)}`);
  };
  const what = (point) => (point.call ? `${point.call} ${point.path ?? ""}` : "the end");
  const findings = (point) => [...Object.entries(point.findings ?? {}).map(([name, count]) => killtest.finding(name, count)),
    ...(point.ending && point.ending !== "finished" ? [point.ending.replaceAll("_", " ")] : [])].join(", ");
  const KNOWN = new Set(["k", "trigger", "call", "path", "size", "offset", "requests_before", "last_request", "phase", "state", "group", "outcome", "ending", "findings",
    "requests", "starts", "confirmed", "mark", "page", "files", "reproduce", "model"]);

  const onDisk = (map, point) => {
    const files = point.files ?? map.points.find((other) => other.state === point.state && other.files)?.files;
    if (!files) return "not written down";
    const names = Object.keys(files);
    return names.length ? el("ul", { class: "filelist" }, names.map((name) => el("li", {}, name, " ", el("span", { class: "soft" }, files[name] === null ? "folder" : killtest.bytes(files[name]))))) : "nothing";
  };

  const detail = (map, point) => {
    const same = map.points.filter((other) => other.group !== undefined && other.group === point.group);
    const more = Object.entries(point).filter(([name, value]) => !KNOWN.has(name) && value !== null).map(([name, value]) => [name.replaceAll("_", " "), typeof value === "object" ? JSON.stringify(value) : String(value)]);
    return [
      el("h2", {}, `Step ${number(point.k)}: ${what(point)}`),
      el("p", {}, killtest.outcome(point.outcome), " ", MARKS[point.mark][1], findings(point) && `: ${findings(point)}`),
      killtest.definitions([
        ["Model", point.model], ["Call", point.call], ["Path", point.path], ["Offset", point.offset === null || point.offset === undefined ? null : number(point.offset)],
        ["Size", point.size === null || point.size === undefined ? null : `${number(point.size)} bytes`], ["Phase", point.phase],
        ["Requests before", number(point.requests_before)], ["Last request", point.last_request], ["Ending", point.ending], ["Requests in all", number(point.requests)], ["Starts", number(point.starts)],
        ["State", point.state && el("code", {}, point.state.slice(0, 16))], ["Same for a restart", same.length > 1 ? `${number(same.length)} points` : null], ...more, ["On disk then", onDisk(map, point)],
      ]),
      point.reproduce ? killtest.command(point.reproduce, `step ${point.k}`) : el("p", { class: "soft" }, point.trigger ? "No command was written down." : "Behind the last step no kill can be placed."),
      point.page && el("p", {}, el("a", { href: point.page }, "The trial with a true kill there")),
    ].filter(Boolean);
  };

  const drawMap = (map, index) => {
    const aside = el("section", { class: "detail", role: "region", "aria-live": "polite", "aria-label": "The chosen point" });
    const title = map.title + (map.model ? ` (${map.model})` : "");
    const grid = el("div", { class: "map", role: "listbox", "aria-label": `${title}: arrow keys move`, "aria-orientation": "horizontal" });
    const cells = map.points.map((point, at) => el("button", { type: "button", role: "option", tabindex: "-1", class: point.mark, "data-at": at, "aria-selected": "false",
      title: `${point.k}: ${what(point)}`, "aria-label": `step ${point.k}, ${what(point)}: ${MARKS[point.mark][1]}${findings(point) ? `, ${findings(point)}` : ""}` }, MARKS[point.mark][0]));
    grid.append(...cells);
    let chosen = -1;
    const choose = (at, isFocused) => {
      if (cells[chosen]) { cells[chosen].tabIndex = -1; cells[chosen].setAttribute("aria-selected", "false"); }
      chosen = at;
      cells[at].tabIndex = 0;
      cells[at].setAttribute("aria-selected", "true");
      aside.replaceChildren(...detail(map, map.points[at]));
      if (isFocused) { cells[at].focus(); remember({ map: index || null, k: map.points[at].k }); }
    };
    const inRow = () => getComputedStyle(grid).gridTemplateColumns.split(" ").length;
    grid.addEventListener("click", (event) => {
      const cell = event.target.closest("[data-at]");
      if (cell) choose(Number(cell.dataset.at), true);
    });
    grid.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: inRow(), ArrowUp: -inRow(), Home: -cells.length, End: cells.length, PageDown: 5 * inRow(), PageUp: -5 * inRow() };
      if (!(event.key in steps)) return;
      event.preventDefault();
      choose(Math.min(cells.length - 1, Math.max(0, chosen + steps[event.key])), true);
    });

    const files = [...new Set(map.points.map((point) => point.path).filter(Boolean))].sort();
    const marks = data.marks.filter((mark) => map.points.some((point) => point.mark === mark));
    const select = (name, label, values, words = (value) => value) => el("div", { class: "field" }, el("label", { for: `filter-${name}-${index}` }, label),
      el("select", { id: `filter-${name}-${index}`, "data-filter": name, onchange: (event) => { remember({ [name]: event.target.value }); dim(); } }, el("option", { value: "" }, "all"), values.map((value) => el("option", { value }, words(value)))));
    const filters = el("div", { class: "filters", role: "group", "aria-label": "Filter the points" },
      select("file", "File", files), select("mark", "Outcome", marks, (mark) => MARKS[mark][1]),
      el("button", { type: "button", onclick: () => next(1) }, "Next that fails"));
    const next = () => {
      const at = cells.findIndex((cell, place) => place > chosen && map.points[place].outcome === "FAIL" && !cell.classList.contains("dim"));
      const first = cells.findIndex((cell, place) => map.points[place].outcome === "FAIL" && !cell.classList.contains("dim"));
      if (at >= 0 || first >= 0) choose(at >= 0 ? at : first, true);
    };
    const dim = () => {
      const now = state();
      filters.querySelectorAll("select").forEach((one) => { one.value = now[one.dataset.filter] ?? ""; });
      cells.forEach((cell, place) => cell.classList.toggle("dim",
        Boolean((now.file && map.points[place].path !== now.file) || (now.mark && map.points[place].mark !== now.mark))));
    };
    const legend = el("ul", { class: "keys" }, marks.map((mark) => el("li", {}, el("span", { class: `cellmark ${mark}`, "aria-hidden": "true" }, MARKS[mark][0]),
      `${MARKS[mark][1]} (${number(map.points.filter((point) => point.mark === mark).length)})`)));
    const now = state(), mine = Number(now.map ?? 0) === index;
    const wanted = map.points.findIndex((point) => mine && String(point.k) === now.k);
    const failing = map.points.findIndex((point) => point.outcome === "FAIL");
    if (cells.length) choose(Math.max(0, wanted >= 0 ? wanted : failing), false);
    dim();
    return [el("h2", {}, title), legend, filters, el("div", { class: "split" }, grid, aside)];
  };

  const told = data.summary;
  document.getElementById("trail").append(el("a", { href: data.index }, data.name), " / map");
  main.replaceChildren(...[
    el("h1", {}, data.name),
    told.outcome && el("p", {}, killtest.outcome(told.outcome)),
    told.points !== undefined && killtest.facts([[number(told.points), "crash points"], [number(told.states), "states on disk"], [number(told.groups), "for a restart"], [number(told.failing), "fail"], [number(told.confirmed), "by a true kill too"]]),
    ...(told.doubts ?? []).map((doubt) => el("p", { class: "alarm" }, `Not trusted: ${doubt}`)),
    el("p", { class: "soft" }, "A cell for each point, in order: what is on disk if the crawler dies right before that step. Choose one with the mouse or the arrow keys."),
    ...data.maps.flatMap(drawMap),
  ].filter(Boolean));
  document.documentElement.dataset.ready = "yes";
})();
