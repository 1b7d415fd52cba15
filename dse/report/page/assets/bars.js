"use strict";
// Bars and courses: importance, convergence and breakdowns.

const TINTS = ["#4477aa", "#cc6633", "#228833", "#aa3377", "#999933", "#66a5c4", "#8855aa", "#bbbbbb", "#775544", "#44aa99", "#ddaa33", "#555577"];

function plain(height, xtitle, more = {}) {
  const grid = { gridcolor: colour("line"), zerolinecolor: colour("line"), automargin: true };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("ink") }, height,
    margin: { t: 10, r: 20, l: 60, b: 50 }, legend: { orientation: "h", y: 1.02, yanchor: "bottom", traceorder: "normal" }, hoverlabel: { align: "left", namelength: -1 },
    ...more, xaxis: { ...grid, title: { text: xtitle }, ...more.xaxis }, yaxis: { ...grid, ...more.yaxis },
  };
}

// Pictures that nobody has come near yet, each with what draws it; their room is kept free.
const waiting = new Map();
const near = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach((one) => drawWaiting(one.target)), { rootMargin: "600px" });

function drawWaiting(plot) {
  waiting.get(plot)?.();
  forget(plot);
}

function forget(plot) {
  waiting.delete(plot);
  near.unobserve(plot);
}

/** Draw all that waits: paper shows it without being scrolled. */
function drawAllWaiting() {
  for (const plot of [...waiting.keys()]) drawWaiting(plot);
}

/** Pictures in a section, one after another, each under a heading; drawn once they come near. */
function fill(id, charts) {
  const place = document.getElementById(`${id}-plots`);
  if (!place) return;
  for (const old of place.querySelectorAll(".plot")) { forget(old); Plotly.purge(old); }
  place.replaceChildren();
  for (const { title, traces, layout } of charts) {
    const plot = make("div", { class: "plot low", role: "img", "aria-label": title });
    plot.style.height = `${layout.height}px`;
    place.append(make("div", {}, make("h3", {}, title), plot));
    waiting.set(plot, () => Plotly.newPlot(plot, traces, layout, { responsive: true, displayModeBar: false }));
    near.observe(plot);
  }
}

function drawImportance() {
  fill("importance", page.data.importance.map((one) => ({
    title: `Knobs that decide ${one.objective}`,
    traces: [{ type: "bar", orientation: "h", y: [...one.knobs].reverse(), x: one.shares.map((share) => share * 100).reverse(), marker: { color: colour("dot") }, hovertemplate: "%{y}: %{x:.1f} %<extra></extra>" }],
    layout: plain(90 + 24 * one.knobs.length, "share of the importance (%)"),
  })));
}

function drawCourse() {
  const course = page.data.course, charts = [];
  const line = (x, y, more = {}) => ({ type: "scatter", mode: "lines+markers", x, y, marker: { color: colour("one") }, line: { color: colour("one"), ...more } });
  if (course.proposals.length) {
    charts.push({ title: "Hypervolume of the front so far (part of the last one)", traces: [line(course.proposals, course.hypervolume.map((part) => 100 * part))], layout: plain(260, "proposals", { yaxis: { ticksuffix: " %", rangemode: "tozero" } }) });
  }
  for (const { label, unit, points } of course.best) {
    if (!points.length) continue;
    const last = course.proposals.at(-1) ?? 0; // the best stays the best to the end
    if (last > points.at(-1)[0]) points.push([last, points.at(-1)[1]]);
    charts.push({ title: `Best ${label} so far${unit ? ` (${unit})` : ""}`, traces: [line(points.map(([at]) => at), points.map(([, value]) => value), { shape: "hv" })], layout: plain(260, "proposals", { xaxis: { rangemode: "tozero" } }) });
  }
  fill("course", charts);
}

/** A unit with a prefix that suits the largest value. */
function prefixed(values, unit) {
  const most = Math.max(...values.map(Math.abs), 0);
  if (unit === "s") return most < 1e-3 ? [1e6, "us"] : most < 1 ? [1e3, "ms"] : [1, "s"];
  for (const [sign, factor] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) if (most >= factor) return [1 / factor, sign + unit];
  return [1, unit];
}

/** Bars of designs, a colour per part. */
function stacked(title, unit, trials, parts) {
  const [factor, said] = prefixed(trials.map((_, at) => parts.reduce((sum, part) => sum + part.values[at], 0)), unit);
  return {
    title: `${title[0].toUpperCase()}${title.slice(1)}`,
    traces: parts.map((part, at) => ({
      type: "bar", orientation: "h", name: part.name, y: trials.map((trial) => `trial ${trial}`), x: part.values.map((value) => value * factor),
      marker: { color: TINTS[at % TINTS.length] }, hovertemplate: `%{y}: ${escaped(part.name)} %{x:.4g} ${said}<extra></extra>`,
    })),
    layout: plain(150 + 24 * trials.length + 20 * Math.ceil(parts.length / (innerWidth < 640 ? 1 : 3)), said, { barmode: "stack", yaxis: { type: "category", autorange: "reversed" } }),
  };
}

function drawBreakdowns() {
  fill("breakdowns", page.data.breakdowns.map((one) => stacked(one.title, one.unit, one.trials, one.parts)));
}
