"use strict";
/* The list of trials: a page of it at a time, so that ten thousand are as fast as ten. */
(() => {
  const { el, number, column } = killtest;
  const { data } = killtest;
  const ON_A_PAGE = 50;

  const names = (trial) => ({ subject: data.subjects[trial[column.subject]], group: data.groups[trial[column.group]], outcome: data.outcomes[trial[column.outcome]] });
  killtest.names = names;

  const of = (value, ideal) => (value === null ? "–" : `${number(value)} / ${number(ideal)}`);
  const rank = (trial) => [1, 0, 2][trial[column.outcome]] ?? 3;
  const share = (value, ideal) => (value === null || !ideal ? -1 : value / ideal);
  const ORDERS = {
    subject: (trial) => names(trial).subject, schedule: (trial) => trial[column.schedule], outcome: rank,
    rows: (trial) => share(trial[column.rows], trial[column.products]),
    requests: (trial) => share(trial[column.requests], trial[column.minimum]),
    kills: (trial) => trial[column.danger], wall: (trial) => trial[column.wall_s] ?? -1,
  };

  const sorted = (trials, sort) => {
    const down = sort.startsWith("-"), order = ORDERS[down ? sort.slice(1) : sort];
    if (!order) return trials;
    const keyed = trials.map((trial, index) => [order(trial), index, trial]);
    keyed.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (down ? -1 : 1) || a[1] - b[1]);
    return keyed.map(([, , trial]) => trial);
  };

  const heading = (label, name, state) => {
    const now = state.sort === name ? "ascending" : state.sort === `-${name}` ? "descending" : null;
    const next = now === "ascending" ? `-${name}` : now === "descending" ? null : name;
    const mark = { ascending: " ▲", descending: " ▼" }[now] ?? "";
    const sort = () => { location.hash = killtest.fragment({ ...killtest.state(), sort: next, page: null }); };
    return { label, sorted: now ?? "none", title: el("button", { type: "button", "data-keep": `sort-${name}`, onclick: sort }, label + mark) };
  };

  const found = (trial) => {
    const told = Object.entries(trial[column.findings]).map(([name, count]) => el("span", { class: "finding" }, killtest.finding(name, count)));
    return told.length ? told.flatMap((one, index) => (index ? [", ", one] : [one])) : el("span", { class: "soft" }, "none");
  };

  const columnsOf = (state) => [
    { ...heading("Outcome", "outcome", state), value: (trial) => killtest.outcome(names(trial).outcome) },
    { ...heading("Subject", "subject", state), className: "name", value: (trial) => names(trial).subject },
    { ...heading("Schedule", "schedule", state), className: "name", value: (trial) =>
      trial[column.page] ? el("a", { href: trial[column.page], "data-trial": true }, trial[column.schedule]) : trial[column.schedule] },
    { label: "Findings", value: (trial) => el("span", {}, found(trial)) },
    { ...heading("Rows", "rows", state), number: true, value: (trial) => of(trial[column.rows], trial[column.products]) },
    { ...heading("Requests", "requests", state), number: true, value: (trial) => of(trial[column.requests], trial[column.minimum]) },
    { ...heading("Kills in danger", "kills", state), number: true, value: (trial) => (trial[column.planned] ? `${trial[column.danger]} / ${trial[column.struck]}` : "–") },
    { ...heading("Time (s)", "wall", state), number: true, value: (trial) => number(trial[column.wall_s], 1) },
    { label: "Reproduce", value: (trial) => killtest.command(trial[column.reproduce], trial[column.id]) },
  ];

  /** Draw the page of the list that the state names, of these trials. */
  killtest.drawList = (place, trials, state) => {
    const pages = Math.max(1, Math.ceil(trials.length / ON_A_PAGE));
    const page = Math.min(pages, Math.max(1, Number.parseInt(state.page ?? "1", 10) || 1));
    const from = (page - 1) * ON_A_PAGE, shown = sorted(trials, state.sort ?? "").slice(from, from + ON_A_PAGE);
    const go = (to) => {
      location.hash = killtest.fragment({ ...killtest.state(), page: to === 1 ? null : to });
      document.getElementById("list").scrollIntoView();
    };
    const step = (label, to, at) => el("button", { type: "button", "data-keep": `${label}-${at}`, disabled: to < 1 || to > pages, onclick: () => go(to) }, label);
    const total = `${number(trials.length)} of ${number(data.trials.length)} trials`;
    const words = trials.length > ON_A_PAGE ? `${total}, ${number(from + 1)} to ${number(from + shown.length)} shown` : total;
    const pager = (at) => el("div", { class: "pager" }, pages > 1 && [step("Previous", page - 1, at), step("Next", page + 1, at), el("p", { class: "soft" }, `page ${page} of ${pages}`)]);
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.keep : null;
    place.replaceChildren(
      el("p", { id: "count", class: "soft", role: "status" }, words), pages > 1 ? pager("top") : "",
      shown.length ? killtest.table(columnsOf(state), shown, { className: "trials cards", caption: "Trials" }) : el("p", {}, "No trial is like that."),
      pages > 1 ? pager("bottom") : "");
    // The button that was pressed is a new one now; whoever goes by keys is still on it.
    if (focused) place.querySelector(`[data-keep="${focused}"]`)?.focus({ preventScroll: true });
  };
})();
