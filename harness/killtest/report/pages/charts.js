"use strict";
/* Vega-Lite charts in the colours of the page, drawn once they come into sight and again when the theme or width changes. */
(() => {
  const config = () => {
    const ink = killtest.colour("ink"), soft = killtest.colour("soft");
    const font = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif";
    return {
      background: "transparent", font,
      view: { stroke: "transparent" },
      axis: { labelColor: soft, titleColor: soft, titleFontWeight: "normal", labelFontSize: 12, titleFontSize: 12.5,
        gridColor: killtest.colour("grid"), domainColor: killtest.colour("line"), tickColor: killtest.colour("line"), labelLimit: 220 },
      legend: { labelColor: ink, titleColor: soft, titleFontWeight: "normal", labelFontSize: 12.5, titleFontSize: 12.5, orient: "top", symbolSize: 90 },
      header: { labelColor: ink, titleColor: soft, labelFontSize: 12.5 },
      title: { color: ink, fontSize: 13, anchor: "start", fontWeight: 600 },
      text: { color: ink, fontSize: 12 },
    };
  };

  /** Run Vega, which lies in the page as a text: a megabyte that the list of trials need not wait for. */
  const wake = () => {
    const kept = document.getElementById("vega");
    if (kept && !window.vegaEmbed) document.body.append(killtest.el("script", {}, kept.textContent));
  };

  /**
   * Draw a chart in `place`. `spec(width)` gives the Vega-Lite specification for a width in pixels; `ready(view)` is
   * called for each new drawing. What the chart shows is said to screen readers by `label`, and stands in a table near it.
   */
  killtest.chart = (place, label, spec, ready = () => {}) => {
    place.classList.add("chart");
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", label);
    let drawn = null, width = 0, seen = false, turn = 0;
    const draw = async () => {
      if (!seen || place.clientWidth === 0) return;
      width = place.clientWidth;
      wake();
      if (!window.vegaEmbed) {
        place.textContent = "No chart: vega.js is not where it was (pages/ of the campaign's folder). The tables tell the same.";
        return;
      }
      const mine = ++turn;
      const inside = killtest.el("div");
      const result = await vegaEmbed(inside, { $schema: "https://vega.github.io/schema/vega-lite/v6.json", ...spec(width), config: config() },
        { actions: false, renderer: "canvas", mode: "vega-lite", tooltip: { theme: "custom" } });
      if (mine !== turn) { result.finalize(); return; }
      if (drawn) drawn.finalize();
      drawn = result;
      inside.querySelectorAll("[role]").forEach((one) => one.removeAttribute("role"));
      inside.querySelectorAll("[aria-label]").forEach((one) => one.removeAttribute("aria-label"));
      inside.querySelectorAll("[aria-roledescription]").forEach((one) => one.removeAttribute("aria-roledescription"));
      place.replaceChildren(inside);
      place.dataset.drawn = String(turn);
      ready(result.view);
    };
    new IntersectionObserver((entries, watcher) => {
      if (entries.some((entry) => entry.isIntersecting)) { seen = true; watcher.disconnect(); draw(); }
    }, { rootMargin: "100px" }).observe(place);
    let timer = 0;
    new ResizeObserver(() => {
      if (Math.abs(place.clientWidth - width) > 2) { clearTimeout(timer); timer = setTimeout(draw, 120); }
    }).observe(place);
    killtest.onTheme(draw);
    return draw;
  };
})();
