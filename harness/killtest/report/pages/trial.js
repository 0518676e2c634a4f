"use strict";
/* The page of one trial, put together. */
(() => {
  const { data, el, number, seconds } = killtest;
  const main = document.getElementById("main");
  const found = Object.entries(data.findings);
  const traffic = data.traffic;

  document.getElementById("trail").append(el("a", { href: data.index }, data.campaign || "campaign"), " / trial");

  const keys = Object.entries(data.keys).map(([name, finding]) => el("li", {},
    el("b", {}, killtest.finding(name, finding.count)), ": ",
    finding.keys.map(([key, value]) => (value === null || value === true ? key : `${key} (${typeof value === "string" ? value : JSON.stringify(value)})`)).join(", "),
    finding.count > finding.keys.length && `, and ${number(finding.count - finding.keys.length)} more`));

  const incarnations = killtest.table([
    { label: "Incarnation", head: true, value: (one) => String(one.number) + (one.again ? " (again)" : "") },
    { label: "Began (s)", number: true, value: (one) => number(one.started_s, 3) },
    { label: "Lasted (s)", number: true, value: (one) => number(one.ended_s - one.started_s, 3) },
    { label: "Requests", number: true, value: (one) => number(one.requests) },
    { label: "Rows after", number: true, value: (one) => number(data.rows_after[one.number + 1]?.[1]) },
    { label: "Ended", value: (one) => `${one.ended_by === "fault" ? "by a fault" : "by itself"}, exit ${one.exit}` },
    { label: "Logs", value: (one) => el("span", {}, ["stdout", "stderr"].filter((kind) => data.files.some(([name]) => name === `incarnation-${one.number}.${kind}`))
      .flatMap((kind, index) => [index ? ", " : "", el("a", { href: `incarnation-${one.number}.${kind}`, "aria-label": `${kind} of incarnation ${one.number}` }, kind)])) },
  ], data.incarnations, { className: null, caption: "Incarnations" });

  const faults = killtest.table([
    { label: "Fault", head: true, value: (fault) => el("code", {}, fault.planned) },
    { label: "Incarnation", number: true, value: (fault) => number(fault.incarnation) },
    { label: "Struck at", number: true, value: (fault) => seconds(fault.at_s) },
    { label: "Status", value: (fault) => String(fault.status ?? "–").replaceAll("_", " ") },
    { label: "Window", value: (fault) => fault.window ?? "–" },
    { label: "In flight", value: (fault) => (fault.in_flight ?? []).join(", ") || "nothing" },
  ], data.faults, { className: null, caption: "Faults" });

  main.replaceChildren(...[
    el("h1", {}, data.id),
    el("p", {}, killtest.outcome(data.outcome), " ", found.length ? found.map(([name, count]) => killtest.finding(name, count)).join(", ") : "no findings",
      data.ending && `; ended: ${data.ending.replaceAll("_", " ")}`, data.ending_detail && ` (${data.ending_detail})`, data.cause && `; cause: ${data.cause}`),
    data.problem && el("p", { class: "alarm" }, data.problem),
    data.unreadable && el("p", { class: "alarm" }, data.unreadable),
    el("div", { class: "block" }, killtest.command(data.reproduce, data.id)),
    killtest.facts([
      [`${number(data.data.rows)} / ${number(data.data.products)}`, "rows / products"], [`${number(traffic.requests)} / ${number(traffic.minimum)}`, "requests / minimum"],
      [number(traffic.repeated), "repeated"], [number(traffic.late), "late"], [number(data.incarnations.length), "incarnations"], [number(data.wall_s, 1), "seconds"],
    ]),
    el("h2", {}, "Timeline"), killtest.timeline(),
    keys.length > 0 && el("h2", {}, "Findings"), keys.length > 0 && el("ul", {}, keys),
    data.faults.length > 0 && el("h2", {}, "Faults"), data.faults.length > 0 && faults,
    el("h2", {}, "Incarnations"), incarnations,
    el("h2", {}, "Evidence"),
    el("ul", { class: "filelist" }, data.files.map(([name, size]) => el("li", {}, el("a", { href: killtest.address(name) }, name), " ", el("span", { class: "soft" }, killtest.bytes(size))))),
  ].filter(Boolean));
  document.documentElement.dataset.ready = "yes";
})();
