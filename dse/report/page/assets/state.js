"use strict";
// The study's data, what the reader has chosen of it, and what redraws when that changes.

const page = { data: null, axes: {}, kept: [], filters: {}, lasso: null, pins: [0, null], views: [] };

/** Take in data: on opening, and again while a study runs. */
function takeData(data) {
  const pinned = page.pins.map((row) => page.data?.trials[row]);
  page.data = data;
  page.axes = Object.fromEntries(data.axes.map((axis) => [axis.name, axis]));
  page.lasso = null;
  for (const name of Object.keys(page.filters)) if (!page.axes[name]) delete page.filters[name];
  const best = data.recommended.map((number) => rowOf(number)).filter((row) => row !== null);
  const base = data.kinds.indexOf("baseline");
  const usual = [best[0] ?? 0, best[1] ?? (base >= 0 ? base : Math.min(1, data.trials.length - 1))];
  if (data.trials.length) page.pins = usual.map((row, place) => rowOf(pinned[place]) ?? row);
  keepRows();
}

/** Row of a trial; null where the page does not hold it. */
function rowOf(number) {
  const row = page.data.trials.indexOf(number);
  return row < 0 ? null : row;
}

/** Work out which rows pass all filters and the selection. */
function keepRows() {
  const rows = page.data.trials.length;
  page.kept = new Array(rows).fill(true);
  for (const [name, [low, high]] of Object.entries(page.filters)) {
    const values = page.axes[name].values;
    for (let row = 0; row < rows; row++) {
      if (values[row] === null || values[row] < low || values[row] > high) page.kept[row] = false;
    }
  }
  if (page.lasso) for (let row = 0; row < rows; row++) if (!page.lasso.has(row)) page.kept[row] = false;
}

/** Keep rows with a value from *low* to *high*; null: all of the axis. */
function filter(name, range) {
  if (range) page.filters[name] = range; else delete page.filters[name];
  changed();
}

/** Keep these rows; null: all. */
function select(rows) {
  page.lasso = rows && rows.length ? new Set(rows) : null;
  changed();
}

function clearAll() {
  page.filters = {};
  page.lasso = null;
  changed();
}

/** Put a row into one of the two places that are compared. */
function pin(place, row) {
  page.pins[place] = row;
  changed(false);
}

/** Redraw all views; *rows*: whether other rows are kept than before. */
function changed(rows = true) {
  if (rows) keepRows();
  for (const view of page.views) view(rows);
}

function nameOf(row) {
  return page.data.kinds[row] === "baseline" ? "the run as it is" : `trial ${page.data.trials[row]}`;
}

/** A value as text, with its unit. */
function told(axis, value) {
  if (value === null || value === undefined) return "-";
  if (axis.choices.length) return axis.choices[value];
  return amount(value, axis.unit);
}

/** Four digits, with k, M, G, T before a unit that takes them. */
function amount(value, unit) {
  const prefixed = ["USD", "W", "B", "s", "B/s", "FLOP/s"].includes(unit);
  const size = Math.abs(value);
  if (prefixed && unit === "s" && size > 0 && size < 1) {
    return size < 1e-3 ? `${digits(value * 1e6)} us` : `${digits(value * 1e3)} ms`;
  }
  if (prefixed && unit !== "s") {
    for (const [sign, factor] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (size >= factor) return `${digits(value / factor)} ${sign}${unit}`;
    }
  }
  return `${digits(value)} ${unit}`.trim();
}

const FOUR = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 }); // made once: to make one takes longer than to use it

function digits(value) {
  const text = Number(value.toPrecision(4));
  return Math.abs(text) >= 1e6 || (text !== 0 && Math.abs(text) < 1e-3) ? text.toExponential() : FOUR.format(text);
}

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
}

/** A colour of the style sheet, light or dark as the screen is. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** An element with attributes and children. */
function make(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value); else found.setAttribute(name, value);
  }
  found.append(...children);
  return found;
}

/** Options for a choice among axes. */
function options(chosen, { none = false } = {}) {
  const found = none ? [make("option", { value: "" }, "none")] : [];
  for (const axis of page.data.axes) found.push(make("option", { value: axis.name }, axis.label));
  for (const option of found) if (option.value === (chosen ?? "")) option.setAttribute("selected", "");
  return found;
}
