"use strict";
// Parallel coordinates: a line per design, an axis per respect; a drag along an axis keeps a range.

const parallel = { names: [], all: false, drag: null, isNear: false };
const TOP = 46, BOTTOM = 22;

/** Objectives, then the knobs that count most. */
function parallelAxes() {
  const most = innerWidth < 640 ? 6 : 10; // axes that can be read
  const goals = page.data.axes.filter((axis) => axis.kind === "objective").slice(0, 6);
  const order = [...new Set(page.data.importance.flatMap((one) => one.names.slice(0, 8)))];
  const knobs = page.data.axes.filter((axis) => axis.kind !== "objective" && axis.name !== "trial");
  const place = (axis) => { const at = order.indexOf(axis.name); return at < 0 ? order.length : at; };
  knobs.sort((one, two) => place(one) - place(two));
  return [...goals, ...(parallel.all ? knobs : knobs.slice(0, Math.max(most - goals.length, 2)))];
}

/** Least and greatest shown value of an axis, and a scale to 0..1. */
function scaleOf(axis) {
  const known = axis.values.filter((value) => value !== null);
  const wide = isLog(axis) && Math.max(...known) > 5 * Math.min(...known);
  const f = wide ? Math.log10 : (value) => value, back = wide ? (value) => 10 ** value : (value) => value;
  const low = f(Math.min(...known)), high = f(Math.max(...known)), span = high - low || 1;
  return { at: (value) => (f(value) - low) / span, value: (at) => back(low + at * span), low: back(low), high: back(high) };
}

function drawParallel() {
  const canvas = document.getElementById("parallel");
  parallel.axes = parallelAxes();
  parallel.scales = parallel.axes.map(scaleOf);
  parallel.observer ??= new IntersectionObserver(([one]) => {
    parallel.isNear = one.isIntersecting;
    paintParallel();
  }, { rootMargin: "600px" });
  parallel.observer.observe(canvas);
  canvas.onpointerdown = beginDrag;
  canvas.onpointermove = goOnDrag;
  canvas.onpointerup = endDrag;
  const all = document.getElementById("parallel-all");
  all.checked = parallel.all;
  all.onchange = () => { parallel.all = all.checked; drawParallel(); };
  drawFilters();
  paintParallel();
}

function xOf(at, width) {
  const count = parallel.axes.length, side = Math.min(60, width / (2 * count));
  return side + (at * (width - 2 * side)) / Math.max(count - 1, 1);
}

/** Paint the lines, where somebody may see them. */
function paintParallel() {
  if (!parallel.isNear && !page.printing) return;
  const canvas = document.getElementById("parallel");
  const width = canvas.clientWidth, height = canvas.clientHeight, ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const paint = canvas.getContext("2d");
  paint.scale(ratio, ratio);
  paint.clearRect(0, 0, width, height);
  const y = (at) => height - BOTTOM - at * (height - TOP - BOTTOM);
  const kinds = page.data.kinds, rows = kinds.map((_, row) => row);
  const groups = [
    [rows.filter((row) => !page.kept[row] && kinds[row] !== "baseline"), "line", 0.5, 0.5],
    [rows.filter((row) => page.kept[row] && kinds[row] !== "front" && kinds[row] !== "baseline"), "dot", 0.35, 1],
    [rows.filter((row) => page.kept[row] && kinds[row] === "front"), "front", 0.9, 1.5],
    [rows.filter((row) => kinds[row] === "baseline"), "ink", 0.9, 1.5],
    [[page.pins[1]].filter((row) => row !== null && row !== undefined), "two", 1, 3],
    [[page.pins[0]].filter((row) => row !== null && row !== undefined), "one", 1, 3],
  ];
  for (const [own, tint, alpha, thick] of groups) {
    paint.strokeStyle = colour(tint);
    paint.globalAlpha = alpha;
    paint.lineWidth = thick;
    paint.beginPath();
    for (const row of own) line(paint, row, width, y);
    paint.stroke();
  }
  paint.globalAlpha = 1;
  paintAxes(paint, width, y);
}

/** The line of a design; broken where it has no value. */
function line(paint, row, width, y) {
  let drawn = false;
  parallel.axes.forEach((axis, at) => {
    const value = axis.values[row];
    if (value === null) { drawn = false; return; }
    const spot = [xOf(at, width), y(parallel.scales[at].at(value))];
    if (drawn) paint.lineTo(...spot); else paint.moveTo(...spot);
    drawn = true;
  });
}

function paintAxes(paint, width, y) {
  const room = width / parallel.axes.length - 6;
  paint.font = "12px system-ui, sans-serif";
  paint.textAlign = "center";
  parallel.axes.forEach((axis, at) => {
    const x = xOf(at, width), scale = parallel.scales[at], range = page.filters[axis.name];
    paint.strokeStyle = paint.fillStyle = colour("ink");
    paint.lineWidth = 1;
    paint.beginPath();
    paint.moveTo(x, y(0));
    paint.lineTo(x, y(1));
    paint.stroke();
    const words = axis.label.split(" "), half = Math.ceil(words.length / 2);
    [words.slice(0, half).join(" "), words.slice(half).join(" ")].forEach((text, part) => paint.fillText(text, x, 12 + 13 * part, room));
    paint.fillStyle = colour("quiet");
    paint.fillText(told(axis, axis.choices.length ? axis.choices.length - 1 : scale.high), x, y(1) - 4, room);
    paint.fillText(told(axis, axis.choices.length ? 0 : scale.low), x, y(0) + 15, room);
    if (range) {
      const [low, high] = range.map((value) => y(Math.min(Math.max(scale.at(value), 0), 1)));
      paint.fillStyle = colour("one");
      paint.globalAlpha = 0.45;
      paint.fillRect(x - 5, high - 2, 10, low - high + 4);
      paint.globalAlpha = 1;
    }
  });
}

function spotOf(event) {
  const canvas = event.currentTarget, box = canvas.getBoundingClientRect(), x = event.clientX - box.left;
  let at = 0;
  parallel.axes.forEach((_, own) => { if (Math.abs(xOf(own, box.width) - x) < Math.abs(xOf(at, box.width) - x)) at = own; });
  const part = 1 - (event.clientY - box.top - TOP) / (box.height - TOP - BOTTOM);
  return { at, part: Math.min(Math.max(part, 0), 1) };
}

function beginDrag(event) {
  parallel.drag = spotOf(event);
  event.currentTarget.setPointerCapture(event.pointerId);
}

function goOnDrag(event) {
  if (!parallel.drag) return;
  const { at, part } = parallel.drag, now = spotOf(event).part, scale = parallel.scales[at];
  const slack = parallel.axes[at].choices.length ? 0.5 / Math.max(parallel.axes[at].choices.length - 1, 1) : 0;
  page.filters[parallel.axes[at].name] = [scale.value(Math.min(part, now) - slack * 0.5), scale.value(Math.max(part, now) + slack * 0.5)];
  paintParallel();
}

/** A range where the pointer has moved; a mere click takes that of the axis away. */
function endDrag(event) {
  if (!parallel.drag) return;
  const { at, part } = parallel.drag, name = parallel.axes[at].name;
  parallel.drag = null;
  filter(name, Math.abs(spotOf(event).part - part) < 0.02 ? null : page.filters[name]);
}

/** The same ranges as form fields, for keys and for exact values. */
function drawFilters() {
  const place = document.getElementById("filters");
  if (place.contains(document.activeElement)) return;
  place.replaceChildren(...parallel.axes.map((axis) => {
    const [low, high] = page.filters[axis.name] ?? [null, null];
    const fields = [["from", low, 0], ["to", high, 1]].map(([word, value, end]) => field(axis, word, value, end));
    return make("fieldset", {}, make("legend", {}, axis.unit && !axis.choices.length ? `${axis.label} (${axis.unit})` : axis.label), ...fields);
  }));
}

function field(axis, word, value, end) {
  const label = `${axis.label} ${word}`;
  const take = (event) => {
    const text = event.target.value, other = page.filters[axis.name] ?? [-Infinity, Infinity], range = [...other];
    range[end] = text === "" ? (end ? Infinity : -Infinity) : Number(text);
    filter(axis.name, range[0] === -Infinity && range[1] === Infinity ? null : range);
  };
  if (!axis.choices.length) {
    const shown = value === null || !Number.isFinite(value) ? "" : Number(value.toPrecision(4));
    return make("input", { type: "number", step: "any", placeholder: word, "aria-label": label, value: shown, onchange: take });
  }
  const entries = axis.choices.map((text, at) => {
    const chosen = value !== null && Number.isFinite(value) && (end ? Math.floor(value) : Math.ceil(value)) === at;
    return make("option", chosen ? { value: at, selected: "" } : { value: at }, text);
  });
  return make("select", { "aria-label": label, onchange: take }, make("option", { value: "" }, word), ...entries);
}
