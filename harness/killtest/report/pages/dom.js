"use strict";
/* The data of the page, and elements made of it. Texts become text nodes, never markup: a crawler may have written them. */
window.killtest = { data: JSON.parse(document.getElementById("data").textContent) };

/** An element with attributes and children. `on…` attributes are listeners; null and false leave an attribute out. */
killtest.el = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
};

/** A number as people read it; a dash where there is none. */
killtest.number = (value, digits = 0) =>
  value === null || value === undefined
    ? "–"
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

killtest.bytes = (size) => {
  if (size === null || size === undefined) return "";
  if (size < 1000) return `${size} B`;
  return size < 1e6 ? `${(size / 1e3).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;
};

killtest.SIGNS = { PASS: "✓", FAIL: "✕", UNKNOWN: "?" };

/** PASS, FAIL or UNKNOWN with its sign. */
killtest.outcome = (word) => killtest.el("span", { class: `outcome ${word}` }, `${killtest.SIGNS[word] ?? "?"} ${word}`);

/** A finding as people say it: `lost 3`, `crash loop`. */
killtest.finding = (name, count) => {
  const said = name.replaceAll("_", " ");
  return ["false_done", "not_idempotent", "crash_loop", "hung", "out_of_time", "refused_start", "unreadable_store"].includes(name)
    ? said
    : `${killtest.number(count)} ${said}`;
};

/** The address of a file beside the page, whatever its name holds. */
killtest.address = (name) => name.split("/").map(encodeURIComponent).join("/");

/** Figures with what they count, in a row. */
killtest.facts = (pairs) =>
  killtest.el("ul", { class: "facts" }, pairs.map(([value, label]) =>
    killtest.el("li", {}, killtest.el("b", {}, value), killtest.el("span", {}, label))));

/**
 * A table. `columns` are {label, number, value(row) → text or node, head}; the one with `head` names its row. Roles are
 * written out because on a phone the rows become cards, and a table that is no table any more loses its own.
 */
killtest.table = (columns, rows, { className = "cards", caption }) => {
  const { el } = killtest;
  const heads = columns.map((column) =>
    el("th", { scope: "col", role: "columnheader", class: column.number && "number", "aria-sort": column.sorted }, column.title ?? column.label));
  const body = rows.map((row) => el("tr", { role: "row" }, columns.map((column) => column.head
    ? el("th", { scope: "row", role: "rowheader" }, column.value(row))
    : el("td", { role: "cell", class: [column.number && "number", column.className].filter(Boolean).join(" ") || null, "data-label": column.label }, column.value(row)))));
  return el("div", { class: "wide", role: "region", tabindex: "0", "aria-label": caption },
    el("table", { role: "table", class: className, "aria-label": caption },
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)), el("tbody", { role: "rowgroup" }, body)));
};

/** A list of definitions: [term, text or node]; pairs without a value are left out. */
killtest.definitions = (pairs) =>
  killtest.el("dl", {}, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").flatMap(([term, value]) =>
    [killtest.el("dt", {}, term), killtest.el("dd", {}, value)]));

// The fragment belongs to the filters: skipping must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
