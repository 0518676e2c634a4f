"use strict";
/* Subjects × schedules: counts of outcomes with an interval, each cell a link to its trials; and what it cost. */
(() => {
  const { data, el, number } = killtest;

  const counts = (cell) => [["PASS", cell.pass], ["FAIL", cell.fail], ["UNKNOWN", cell.unknown]].filter(([, count]) => count > 0);

  const stack = (cell) => el("span", { class: "stack", "aria-hidden": "true" },
    [...counts(cell), ["missing", cell.missing]].filter(([, count]) => count > 0).map(([name, count]) => {
      const bar = el("i", { class: name });
      bar.style.flex = `${count} 0 0`;
      return bar;
    }));

  const cellOf = (cell) => {
    if (!cell) return el("span", { class: "soft" }, "not planned");
    const words = counts(cell).map(([name, count]) => el("span", { class: name }, `${killtest.SIGNS[name]} ${number(count)} ${name}`));
    if (cell.missing) words.push(el("span", { class: "soft" }, `${number(cell.missing)} missing`));
    return el("a", { class: "cell", href: killtest.fragment({ subject: cell.subject, group: cell.group }), "data-list": true },
      el("span", { class: "counts" }, words.length ? words : "no trials"), stack(cell),
      el("span", { class: "rate" }, `FAIL ${cell.rate}`));
  };

  killtest.comparison = () => {
    const groups = [...new Set(data.comparison.map((cell) => cell.group))];
    const subjects = [...new Set(data.comparison.map((cell) => cell.subject))];
    const at = new Map(data.comparison.map((cell) => [`${cell.subject}\n${cell.group}`, cell]));
    const columns = [{ label: "Subject", head: true, value: (subject) => el("a", { href: killtest.fragment({ subject }), "data-list": true }, subject) },
      ...groups.map((group) => ({ label: group, value: (subject) => cellOf(at.get(`${subject}\n${group}`)) }))];
    const table = killtest.table(columns, subjects, { className: "matrix cards", caption: "Outcomes by subject and schedules" });
    table.firstChild.style.setProperty("--columns", groups.length);
    return table;
  };

  const range = (values, digits) => {
    if (!values) return "–";
    const [low, middle, high] = values.map((value) => number(value, digits));
    return low === high ? middle : `${middle} [${low}–${high}]`;
  };

  killtest.costs = () => killtest.table([
    { label: "Subject", head: true, value: (cell) => cell.subject },
    { label: "Schedules", value: (cell) => cell.group },
    { label: "Judged", number: true, value: (cell) => number(cell.pass + cell.fail) },
    { label: "Rows / products", number: true, value: (cell) => range(cell.rows, 2) },
    { label: "Requests / minimum", number: true, value: (cell) => range(cell.requests, 2) },
    { label: "Wall time (s)", number: true, value: (cell) => range(cell.wall_s, 1) },
  ], data.comparison, { className: null, caption: "Rows, requests and time by subject and schedules" });
})();
