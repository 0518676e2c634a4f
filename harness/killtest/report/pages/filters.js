"use strict";
/* What is shown of the trials, kept in the URL's fragment: #subject=naive&outcome=FAIL&finding=lost&page=2&sort=requests */
(() => {
  const { data, el } = killtest;
  const NAMES = ["subject", "group", "outcome", "finding"];
  const LABELS = { subject: "Subject", group: "Schedules", outcome: "Outcome", finding: "Finding" };
  const place = Object.fromEntries(data.columns.map((name, index) => [name, index]));
  killtest.column = place;

  const findings = [...new Set(data.trials.flatMap((trial) => Object.keys(trial[place.findings])))].sort();
  const choices = { subject: data.subjects, group: data.groups, outcome: data.outcomes, finding: [...findings, "none"] };

  /** The fragment as an object of texts. */
  killtest.state = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  /** A fragment with these values; empty ones are left out. */
  killtest.fragment = (state) =>
    `#${new URLSearchParams(Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined))}`;

  killtest.chosen = (state) => {
    const wanted = {
      subject: state.subject ? data.subjects.indexOf(state.subject) : null,
      group: state.group ? data.groups.indexOf(state.group) : null,
      outcome: state.outcome ? data.outcomes.indexOf(state.outcome) : null,
    };
    return data.trials.filter((trial) =>
      Object.entries(wanted).every(([name, value]) => value === null || trial[place[name]] === value) &&
      (!state.finding || (state.finding === "none" ? Object.keys(trial[place.findings]).length === 0 : state.finding in trial[place.findings])));
  };

  const selects = {};
  killtest.filters = () => {
    const change = () => {
      const { sort } = killtest.state();
      location.hash = killtest.fragment({ ...Object.fromEntries(NAMES.map((name) => [name, selects[name].value])), sort });
    };
    const fields = NAMES.map((name) => {
      selects[name] = el("select", { id: `filter-${name}`, onchange: change }, el("option", { value: "" }, "all"),
        choices[name].map((value) => el("option", { value }, name === "finding" ? value.replaceAll("_", " ") : value)));
      return el("div", { class: "field" }, el("label", { for: `filter-${name}` }, LABELS[name]), selects[name]);
    });
    const clear = el("button", { type: "button", id: "clear", onclick: () => { location.hash = killtest.fragment({ sort: killtest.state().sort }); } }, "Show all");
    return el("div", { class: "filters", role: "group", "aria-label": "Filter the trials" }, fields, clear);
  };

  /** Have the fields show what the fragment says. A value that no trial has is shown as it stands, so that nobody wonders. */
  killtest.showFilters = (state) => NAMES.forEach((name) => {
    const select = selects[name], value = state[name] ?? "";
    if (value && ![...select.options].some((option) => option.value === value)) select.append(el("option", { value }, value));
    select.value = value;
  });
})();
