"use strict";
// The front among all designs: two axes or three, one more as colour; hover, select, keys.

const cloud = { x: null, y: null, z: "", colour: "", bands: false, at: 0 };
const BEFORE = 0.08, BEYOND = 0.5, LEAST = 0.05; // of the front's length; decades

function drawCloud() {
  const names = page.data.axes.map((axis) => axis.name);
  const goals = objectivesAlone();
  if (!names.includes(cloud.x)) cloud.x = goals[0];
  if (!names.includes(cloud.y)) cloud.y = goals[1] ?? "trial";
  if (!names.includes(cloud.z)) cloud.z = "";
  if (!names.includes(cloud.colour)) cloud.colour = goals[2] ?? "";
  for (const part of ["x", "y", "z", "colour"]) {
    const chosen = document.getElementById(`cloud-${part}`);
    chosen.replaceChildren(...options(cloud[part], { none: part === "z" || part === "colour" }));
    chosen.onchange = () => { cloud[part] = chosen.value; plotCloud(); };
  }
  const bands = document.getElementById("cloud-bands");
  bands.onchange = () => { cloud.bands = bands.checked; plotCloud(); };
  bands.parentElement.hidden = !Object.keys(page.data.bands).length;
  plotCloud();
}

/** Names of the study's objectives, without their values in each scenario. */
function objectivesAlone() {
  return page.data.axes.filter((axis) => axis.kind === "objective" && !axis.name.includes("@")).map((axis) => axis.name);
}

/** True if a logarithm suits an axis. */
function isLog(axis) {
  return !axis.choices.length && axis.name !== "trial" && axis.kind !== "knob" && axis.values.every((value) => value === null || value > 0);
}

/** Ends of the view of an axis around the front and the baseline; null: all. */
function viewOf(axis) {
  if (axis.choices.length || axis.kind === "knob" || axis.name === "trial") return null;
  const known = axis.values.filter((value, row) => value !== null && ["front", "baseline"].includes(page.data.kinds[row]));
  if (!known.length) return null;
  const scale = isLog(axis) ? Math.log10 : (value) => value;
  const low = scale(Math.min(...known)), high = scale(Math.max(...known));
  const span = Math.max(high - low, isLog(axis) ? LEAST : Math.abs(high) * 0.05 || 1);
  const [near, far] = axis.sense === "maximise" ? [BEYOND, BEFORE] : [BEFORE, BEYOND];
  return [low - near * span, high + far * span];
}

/** Position of each value among those of the front, 0 to 1, so that outliers use up no colours. */
function ranks(axis) {
  const known = [...new Set(axis.values.filter((value, row) => value !== null && page.data.kinds[row] === "front"))].sort((a, b) => a - b);
  const last = Math.max(known.length - 1, 1);
  const rank = (value) => {
    if (value === null) return 0.5;
    const above = known.findIndex((other) => other >= value);
    if (above < 0) return 1;
    if (above === 0) return 0;
    const below = known[above - 1];
    return (above - 1 + (value - below) / (known[above] - below)) / last;
  };
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return { of: axis.values.map(rank), ticks, texts: ticks.map((tick) => told(axis, known[Math.round(tick * (known.length - 1))])) };
}

/** Text about a design, from the axes but its number, each with its name as HTML. */
function hoverOf(row, named) {
  const lines = [`<b>${nameOf(row)}</b>`];
  if (page.data.marks[page.data.trials[row]]) lines.push(`<b>memory ${escaped(page.data.marks[page.data.trials[row]])}</b>`);
  for (const [axis, label] of named) {
    const text = told(axis, axis.values[row]);
    lines.push(`${label}: ${axis.choices.length ? escaped(text) : text}`);
  }
  return lines.join("<br>");
}

const KINDS = [
  ["coarser", "judged coarsely", 5, "circle-open", "coarser"],
  ["feasible", "feasible", 6, "circle", "dot"],
  ["front", "Pareto front", 11, "diamond", "front"],
  ["baseline", "as it is", 13, "x", "ink"],
];

/** Traces of the picture; each carries the rows of its points. */
function traces(axes, shade) {
  const found = [], signs = [];
  const named = page.data.axes.filter((axis) => axis.name !== "trial").slice(0, 30).map((axis) => [axis, escaped(axis.label)]);
  const isAll = page.kept.every(Boolean); // one opacity for all points is drawn in half the time
  for (const [kind, name, size, symbol, tint] of KINDS) {
    const rows = page.data.kinds.map((own, row) => (own === kind ? row : -1)).filter((row) => row >= 0);
    if (!rows.length) continue;
    const tinted = shade && kind !== "baseline";
    const marker = { size: axes.length > 2 ? size * 0.6 : size, symbol: axes.length > 2 && kind === "baseline" ? "x" : symbol };
    marker.color = tinted ? rows.map((row) => shade.of[row]) : colour(tint);
    if (tinted) marker.coloraxis = "coloraxis";
    marker.opacity = axes.length > 2 ? 0.9 : isAll ? 1 : rows.map((row) => (page.kept[row] ? 1 : 0.08));
    const trace = { name, customdata: rows, mode: "markers", marker, hoverinfo: "text", hovertext: rows.map((row) => hoverOf(row, named)), type: axes.length > 2 ? "scatter3d" : "scatter" };
    ["x", "y", "z"].slice(0, axes.length).forEach((part, at) => { trace[part] = rows.map((row) => axes[at].values[row]); });
    if (axes.length > 2) keepOnly(trace, rows);
    else if (kind === "front" && objectivesAlone().length <= 2 && axes.every((axis) => axis.kind === "objective")) {
      Object.assign(trace, { mode: "lines+markers+text", text: rows.map(labelOf), textposition: "top right" });
      trace.line = { shape: axes[0].sense === "maximise" ? "vh" : "hv", width: 1, color: colour("front") };
    }
    if (cloud.bands && (kind === "front" || kind === "baseline")) addBands(trace, axes, kind);
    trace.showlegend = !tinted;
    found.push(trace);
    // a legend has no colours of a scale: a trace without points stands there in their place
    if (tinted) signs.push({ name, type: trace.type, mode: "markers", marker: { ...marker, color: colour(tint), coloraxis: null, opacity: 1 }, ...Object.fromEntries(["x", "y", "z"].slice(0, axes.length).map((part) => [part, [null]])) });
  }
  return [...found, ...signs];
}

/** The number beside a design that is recommended; others would cover each other. */
function labelOf(row) {
  return page.data.recommended.includes(page.data.trials[row]) ? `${page.data.trials[row]}` : "";
}

/** In space there is no opacity per point: what is not kept is left out. */
function keepOnly(trace, rows) {
  for (const part of ["x", "y", "z"]) trace[part] = trace[part].map((value, at) => (page.kept[rows[at]] ? value : null));
}

function addBands(trace, axes, kind) {
  axes.forEach((axis, at) => {
    const all = page.data.bands[axis.name];
    if (!all) return;
    const own = kind === "front" ? all.slice(0, trace.customdata.length) : all.slice(-1);
    const values = trace[["x", "y", "z"][at]];
    trace[`error_${["x", "y", "z"][at]}`] = {
      type: "data", symmetric: false, thickness: 1, width: 3,
      array: own.map(([, high], row) => high - values[row]), arrayminus: own.map(([low], row) => values[row] - low),
    };
  });
}

function axisLayout(axis, view) {
  const isTime = axis.unit === "s" && !axis.choices.length; // ticks then bear ms or s themselves
  const title = axis.unit && !axis.choices.length && !isTime ? `${axis.label} (${axis.unit})` : axis.label;
  const found = { title: { text: title }, gridcolor: colour("line"), zerolinecolor: colour("line"), automargin: true };
  if (axis.choices.length) Object.assign(found, { tickvals: axis.choices.map((_, at) => at), ticktext: axis.choices });
  else if (isLog(axis)) Object.assign(found, { type: "log", nticks: 7 });
  if (isTime) Object.assign(found, { tickformat: "~s", ticksuffix: "s" });
  if (view) found.range = view;
  return found;
}

/** A sentence on the designs that the view leaves out. */
function beyond(axes, views) {
  const logs = axes.map(isLog);
  const inside = (row) => axes.every((axis, at) => {
    const value = axis.values[row];
    if (value === null || !views[at]) return value !== null;
    const own = logs[at] ? Math.log10(value) : value;
    return own >= views[at][0] && own <= views[at][1];
  });
  const rows = page.data.trials.map((_, row) => row).filter((row) => !inside(row));
  if (!rows.length) return "All designs are in view.";
  const worst = axes.filter((axis) => axis.kind === "objective").map((axis) => {
    const values = rows.map((row) => axis.values[row]).filter((value) => value !== null);
    return `${axis.label} ${told(axis, axis.sense === "maximise" ? Math.min(...values) : Math.max(...values))}`;
  });
  return `${rows.length.toLocaleString("en")} designs lie beyond this view, up to ${worst.join(" and ")}: a double click on the picture shows all.`;
}

function layoutOf(axes, views, shade) {
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("ink") },
    margin: { t: 10, r: 10, l: 60, b: 50 }, legend: { orientation: "h", y: 1.08 }, dragmode: axes.length > 2 ? "orbit" : "select",
    hoverlabel: { align: "left" }, hovermode: "closest", uirevision: [cloud.x, cloud.y, cloud.z].join(),
  };
  const own = axes.map((axis, at) => axisLayout(axis, views[at]));
  if (axes.length > 2) layout.scene = { xaxis: own[0], yaxis: own[1], zaxis: own[2] };
  else [layout.xaxis, layout.yaxis] = own;
  if (shade) {
    const axis = page.axes[cloud.colour];
    layout.coloraxis = { colorscale: "Viridis", cmin: 0, cmax: 1, colorbar: { title: { text: axis.label, side: "right" }, tickvals: shade.ticks, ticktext: shade.texts, thickness: 14 } };
  }
  return layout;
}

function plotCloud() {
  const place = document.getElementById("cloud");
  if (!page.data.trials.length) return;
  const axes = [cloud.x, cloud.y, cloud.z].filter(Boolean).map((name) => page.axes[name]);
  const views = axes.map(viewOf);
  const shade = cloud.colour ? ranks(page.axes[cloud.colour]) : null;
  const config = { responsive: true, displaylogo: false };
  Plotly.react(place, traces(axes, shade), layoutOf(axes, views, shade), config);
  document.getElementById("cloud-beyond").textContent = beyond(axes, views);
  if (place.dataset.heard) return;
  place.dataset.heard = "yes";
  place.on("plotly_click", (event) => choose(event.points[0].customdata, event.event?.shiftKey ? 1 : 0));
  place.on("plotly_selected", (event) => event && select(event.points.map((point) => point.customdata)));
  place.on("plotly_deselect", () => select(null));
  place.addEventListener("keydown", walk);
}

/** Put a design into the comparison, and say so. */
function choose(row, place) {
  pin(place, row);
  const axes = page.data.axes.filter((axis) => axis.kind === "objective").slice(0, 4);
  document.getElementById("said").textContent =
    `${nameOf(row)} is ${place ? "second" : "first"} in the comparison: ${axes.map((axis) => `${axis.label} ${told(axis, axis.values[row])}`).join(", ")}`;
}

/** Arrow keys walk along the front; Enter puts the design second. */
function walk(event) {
  const front = page.data.kinds.filter((kind) => kind === "front").length;
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  if (event.key === "Enter") return choose(cloud.at, 1);
  if (step === undefined || !front) return;
  event.preventDefault();
  cloud.at = Math.min(Math.max(cloud.at + step, 0), front - 1);
  choose(cloud.at, 0);
  const place = document.getElementById("cloud");
  const trace = place.data.findIndex((one) => one.name === "Pareto front");
  if (!cloud.z) Plotly.Fx.hover(place, [{ curveNumber: trace, pointNumber: cloud.at }]);
}
