"use strict";
/* The index of a campaign, put together. */
(() => {
  const { data, el, number } = killtest;
  const main = document.getElementById("main"), list = el("div", { id: "trials" });
  const judged = data.comparison.reduce((sum, cell) => ({ PASS: sum.PASS + cell.pass, FAIL: sum.FAIL + cell.fail, UNKNOWN: sum.UNKNOWN + cell.unknown }), { PASS: 0, FAIL: 0, UNKNOWN: 0 });
  const section = (title, note, ...content) => content.length ? [el("h2", {}, title), note && el("p", { class: "soft" }, note), ...content.flat()] : [];
  const left = data.planned === null ? 0 : data.planned - data.finished;

  document.getElementById("trail").append(el("span", {}, "killtest report"));
  main.replaceChildren(...[
    el("h1", {}, data.campaigns.join(", ") || data.name),
    killtest.facts([
      [data.planned === null ? number(data.finished) : `${number(data.finished)} of ${number(data.planned)}`, "trials finished"],
      [number(data.controls), "controls"], [`✓ ${number(judged.PASS)}`, "PASS"], [`✕ ${number(judged.FAIL)}`, "FAIL"], [`? ${number(judged.UNKNOWN)}`, "UNKNOWN"],
    ]),
    left > 0 && el("p", { class: "alarm" }, `Incomplete: ${number(left)} planned trials have not finished.`),
    data.map && el("p", {}, el("a", { href: data.map }, "The map of crash points"), ": every durable step of the crawler, and what a kill before it leaves."),
    ...(data.comparison.length ? section("Comparison", "Each cell is a subject under one group of schedules: its trials by outcome, and the rate of FAIL among the judged ones with Wilson's 95 % interval (for 0 of n the 95 % limit 3/n). UNKNOWN (killtest itself failed, or none of the planned faults struck) counts neither way. A cell leads to its trials.", killtest.comparison()) : []),
    ...(data.mtbf.length ? section("Completion against the time between kills", "Kills come at random, on average so many seconds apart; a trial that is still at it when its time is up never finished.", killtest.mtbf()) : []),
    ...(data.comparison.length ? section("Rows and requests against the ideal", "Median and range over judged trials; 1 is a perfect crawl.", killtest.idealChart(), killtest.costs()) : []),
    ...(data.coverage.length ? section("Kill coverage", "A kill that strikes while nothing is at stake proves little. In danger: a request open at the site, an answer whose row is not stored yet, or a write in the middle.", killtest.coverage()) : []),
    el("h2", { id: "list", tabindex: "-1" }, "Trials"), killtest.filters(), list,
    ...section("Files", null, el("ul", { class: "filelist" }, data.files.map((name) => el("li", {}, el("a", { href: killtest.address(name) }, name))))),
  ].filter(Boolean));

  const show = () => {
    const state = killtest.state(), trials = killtest.chosen(state);
    killtest.showFilters(state);
    killtest.drawList(list, trials, state);
    return trials;
  };
  let isFirst = true;
  const follow = () => {
    const trials = show();
    if (!isFirst || location.hash.length > 1) killtest.showIdeal(trials);
    isFirst = false;
  };
  addEventListener("hashchange", follow);
  main.addEventListener("click", (event) => {
    if (event.target.closest("[data-list]")) setTimeout(() => {
      const heading = document.getElementById("list");
      heading.scrollIntoView();
      heading.focus({ preventScroll: true });
    });
  });
  follow();
  performance.mark("killtest-ready");
  document.documentElement.dataset.ready = "yes";
})();
