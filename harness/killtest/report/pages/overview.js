"use strict";
/* The charts of the index: every trial against the ideal, kill coverage, completion against the time between kills. */
(() => {
  const { data, el, number, colour, column } = killtest;
  const outcomeScale = () => ({ domain: ["PASS", "FAIL"], range: [colour("pass"), colour("fail")] });
  const shapes = { domain: ["PASS", "FAIL"], range: ["circle", "M-.7,-1 L0,-.3 .7,-1 1,-.7 .3,0 1,.7 .7,1 0,.3 -.7,1 -1,.7 -.3,0 -1,-.7Z"] };

  const values = (trials) => trials.filter((trial) => trial[column.outcome] < 2 && trial[column.requests] !== null && trial[column.rows] !== null)
    .map((trial, index) => ({
      ...killtest.names(trial), schedule: trial[column.schedule], page: trial[column.page],
      rows: trial[column.rows], requests: trial[column.requests], jitter: ((index * 0.618034) % 1) - 0.5,
      rows_ratio: trial[column.products] ? trial[column.rows] / trial[column.products] : null,
      requests_ratio: trial[column.minimum] ? trial[column.requests] / trial[column.minimum] : null,
    }));

  const strip = (name, title, width, subjects, isFirst) => ({
    width, height: { step: 34 },
    encoding: { y: { field: "subject", type: "nominal", sort: subjects, title: null, axis: isFirst ? { grid: true, ticks: false, domain: false } : { labels: false, grid: true, ticks: false, domain: false } } },
    layer: [
      { data: { values: [{ ideal: 1 }] }, mark: { type: "rule", strokeDash: [4, 3], color: colour("ink") }, encoding: { x: { field: "ideal", type: "quantitative" }, y: null } },
      {
        mark: { type: "point", filled: true, size: 46, opacity: 0.75, cursor: "pointer" },
        encoding: {
          x: { field: name, type: "quantitative", title, scale: { zero: true }, axis: { tickCount: 6 } },
          yOffset: { field: "jitter", type: "quantitative", scale: { domain: [-0.75, 0.75] } },
          color: { field: "outcome", scale: outcomeScale(), title: null },
          shape: { field: "outcome", scale: shapes, title: null },
          tooltip: [{ field: "subject" }, { field: "schedule" }, { field: "outcome" }, { field: "rows", format: ",d" }, { field: "requests", format: ",d" }],
        },
      },
    ],
  });

  let shown = data.trials;
  const idealSpec = (width) => {
    const subjects = data.subjects.filter((subject) => shown.some((trial) => data.subjects[trial[column.subject]] === subject));
    const labels = Math.min(220, Math.max(40, ...subjects.map((subject) => 7 * subject.length))) + 20;
    const isNarrow = width < 640;
    const each = isNarrow ? width - labels - 16 : (width - labels - 50) / 2;
    const panels = [["rows_ratio", "rows in the store / products"], ["requests_ratio", "page requests / minimum"]]
      .map(([name, title], index) => strip(name, title, Math.max(80, each), subjects, isNarrow || index === 0));
    return { data: { values: values(shown) }, [isNarrow ? "vconcat" : "hconcat"]: panels, spacing: 24, resolve: { scale: { color: "shared", shape: "shared" } } };
  };
  let redraw = () => {};
  killtest.idealChart = () => {
    const place = el("div", { id: "ideal" });
    const open = (view) => view.addEventListener("click", (event, item) => { if (item?.datum?.page) location.href = item.datum.page; });
    redraw = killtest.chart(place, "Each trial's rows and requests divided by the ideal; the table of costs tells medians and ranges", idealSpec, open);
    return el("figure", {}, place, el("figcaption", {}, "Every judged trial that the filters below let through; the dashed line, 1, is a perfect crawl. A mark with evidence opens its page."));
  };
  killtest.showIdeal = (trials) => { shown = trials; redraw(); };

  const WINDOWS = { waiting: "waiting for an answer", between: "between answer and commit", commit: "inside a commit", idle: "idle", "start-up": "during start-up", unknown: "window unknown" };
  killtest.coverage = () => {
    const place = el("div", { id: "coverage" });
    const order = Object.keys(WINDOWS);
    const rows = data.coverage.flatMap((one) => order.map((name, index) => ({ subject: one.subject, window: WINDOWS[name], order: index, kills: one.windows[name] ?? 0, struck: one.struck })));
    killtest.chart(place, "Where the kills of each subject struck, by window; the table below has the numbers", (width) => {
      const labels = Math.min(220, Math.max(40, ...data.coverage.map((one) => 7 * one.subject.length))) + 20;
      return {
        width: Math.max(120, width - labels - 10), height: { step: 30 }, data: { values: rows },
        mark: { type: "bar", height: 18, stroke: colour("paper"), strokeWidth: 1.5 },
        encoding: {
          y: { field: "subject", type: "nominal", title: null, axis: { ticks: false, domain: false } },
          x: { field: "kills", type: "quantitative", stack: "normalize", title: "share of the kills that struck", axis: { format: "%", tickCount: 5 } },
          color: { field: "window", sort: Object.values(WINDOWS), title: null, legend: { columns: width < 420 ? 1 : width < 800 ? 2 : 6, labelLimit: 300 },
            scale: { domain: Object.values(WINDOWS), range: [colour("late"), "#cc79a7", colour("derived"), colour("first"), colour("unknown"), colour("line")] } },
          order: { field: "order" },
          tooltip: [{ field: "subject" }, { field: "window" }, { field: "kills", format: ",d" }, { field: "struck", format: ",d", title: "of" }],
        },
      };
    });
    const table = killtest.table([
      { label: "Subject", head: true, value: (one) => one.subject },
      { label: "Struck", number: true, value: (one) => number(one.struck) },
      { label: "In danger [95 %]", number: true, value: (one) => `${number(one.danger)} · ${one.rate}` },
      ...order.map((name) => ({ label: WINDOWS[name], number: true, value: (one) => number(one.windows[name] ?? 0) })),
    ], data.coverage, { className: null, caption: "Kills that struck, by window" });
    return [el("figure", {}, place), table];
  };

  const neverText = (point) => {
    if (!point.never_share) return "none judged";
    const [low, share, high] = point.never_share.map((value) => `${(100 * value).toFixed(0)}`);
    return `${point.never} of ${point.n} · ${share} % [${low}–${high}]`;
  };
  killtest.mtbf = () => {
    const place = el("div", { id: "mtbf" });
    const rows = data.mtbf.filter((point) => point.n).map((point) => ({ ...point, wall: point.wall_s?.[1] ?? null, fastest: point.wall_s?.[0] ?? null, slowest: point.wall_s?.[2] ?? null,
      low: point.never_share[0], share: point.never_share[1], high: point.never_share[2], told: neverText(point) }));
    const subjects = [...new Set(rows.map((row) => row.subject))];
    const spread = Object.fromEntries(subjects.map((subject, index) => [subject, (index - (subjects.length - 1) / 2) * 7]));
    const palette = () => ["first", "late", "rows", "derived", "unknown"].map(colour).concat(["#cc79a7"]);
    killtest.chart(place, "Time to finish and share of trials that never finish, by mean time between kills; the table below has the numbers", (width) => {
      const isNarrow = width < 640, each = isNarrow ? width - 70 : (width - 150) / 2;
      const means = [...new Set(rows.map((row) => row.mtbf_s))].sort((a, b) => a - b);
      const x = { field: "mtbf_s", type: "quantitative", title: "mean time between kills (s)", scale: { type: "log", nice: false, domain: [0.75 * means[0], 1.33 * means[means.length - 1]] }, axis: { values: means, grid: false, format: "~g" } };
      const colours = { field: "subject", title: null, scale: { domain: subjects, range: palette() }, legend: { columns: isNarrow ? 2 : 5 } };
      const shape = { field: "subject", scale: { domain: subjects }, title: null, legend: { columns: isNarrow ? 2 : 5 } };
      const tooltip = [{ field: "subject" }, { field: "mtbf_s", title: "mean time between kills (s)" }, { field: "told", title: "never finished" }, { field: "wall", title: "median time to finish (s)", format: ".1f" }, { field: "n" }];
      const of = (field) => subjects.map((subject) => [subject, rows.filter((row) => row.subject === subject && row[field] !== null)]).filter(([, values]) => values.length);
      const panel = (low, middle, high, y) => ({
        width: Math.max(90, each), height: 260, encoding: { x, color: colours },
        layer: [
          ...of(middle).map(([subject, values]) => ({ data: { values }, mark: { type: "rule", xOffset: spread[subject], opacity: 0.8 },
            encoding: { y: { field: low, type: "quantitative", ...y }, y2: { field: high } } })),
          ...of(middle).map(([subject, values]) => ({ data: { values }, mark: { type: "line", xOffset: spread[subject], strokeWidth: 1.2, opacity: 0.6 },
            encoding: { y: { field: middle, type: "quantitative", ...y } } })),
          ...of(middle).map(([subject, values]) => ({ data: { values }, mark: { type: "point", filled: true, size: 70, opacity: 1, xOffset: spread[subject] },
            encoding: { y: { field: middle, type: "quantitative", ...y }, shape, tooltip } })),
        ],
      });
      return {
        spacing: 30,
        [isNarrow ? "vconcat" : "hconcat"]: [
          ...(of("wall").length ? [panel("fastest", "wall", "slowest", { title: "time to finish (s): median, lowest to highest", scale: { zero: true } })] : []),
          panel("low", "share", "high", { title: "trials that never finish, with 95 % interval", scale: { domain: [0, 1] }, axis: { format: "%" } }),
        ],
      };
    });
    const table = killtest.table([
      { label: "Subject", head: true, value: (point) => el("a", { href: killtest.fragment({ subject: point.subject, group: `mtbf-${point.mtbf_s}` }), "data-list": true }, point.subject) },
      { label: "Mean (s)", number: true, value: (point) => String(point.mtbf_s) },
      { label: "Counted", number: true, value: (point) => number(point.n) },
      { label: "Finished", number: true, value: (point) => number(point.finished) },
      { label: "before the first kill", number: true, value: (point) => number(point.untouched) },
      { label: "finished and right", number: true, value: (point) => number(point.right) },
      { label: "Never finished [95 %]", number: true, value: neverText },
      { label: "Ended", value: (point) => Object.entries(point.endings).map(([name, count]) => `${name.replaceAll("_", " ")} ${count}`).join(", ") || "–" },
      { label: "Time to finish (s)", number: true, value: (point) => (point.wall_s ? `${number(point.wall_s[1], 1)} [${number(point.wall_s[0], 1)}–${number(point.wall_s[2], 1)}]` : "never") },
    ], data.mtbf, { className: null, caption: "Completion by mean time between kills" });
    return [el("figure", {}, place), table];
  };
})();
