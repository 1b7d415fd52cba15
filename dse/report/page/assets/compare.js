"use strict";
// Two designs side by side, and the table of the front, in step with the other views.

function drawCompare() {
  const rows = page.data.trials.map((_, row) => row);
  const listed = rows.filter((row) => page.data.kinds[row] !== "coarser" || page.pins.includes(row)).slice(0, 600);
  for (const row of page.pins) if (row !== null && !listed.includes(row)) listed.push(row);
  ["first", "second"].forEach((word, place) => {
    const chosen = document.getElementById(`compare-${word}`);
    chosen.replaceChildren(...listed.map((row) => {
      const star = page.data.kinds[row] === "front" ? " (front)" : "";
      return make("option", row === page.pins[place] ? { value: row, selected: "" } : { value: row }, nameOf(row) + star);
    }));
    chosen.onchange = () => pin(place, Number(chosen.value));
  });
  const [one, two] = page.pins;
  if (one === null || two === null || one === undefined) return;
  const head = make("tr", {}, make("th", { scope: "col" }, "respect"), make("th", { scope: "col" }, nameOf(one)), make("th", { scope: "col" }, nameOf(two)), make("th", { scope: "col" }, "second against first"));
  const lines = page.data.axes.filter((axis) => axis.name !== "trial").map((axis) => {
    const values = [one, two].map((row) => axis.values[row]), texts = values.map((value) => told(axis, value));
    const part = !axis.choices.length && axis.kind !== "knob" && values[0] && values[1] !== null ? `${values[1] >= values[0] ? "+" : ""}${((values[1] / values[0] - 1) * 100).toFixed(1)}%` : "";
    const row = make("tr", texts[0] === texts[1] ? {} : { class: "differs" }, make("th", { scope: "row" }, axis.label));
    row.append(...[...texts, texts[0] === texts[1] ? "the same" : part].map((text) => make("td", {}, text)));
    return row;
  });
  document.getElementById("compare").replaceChildren(make("thead", {}, head), make("tbody", {}, ...lines));
}

/** How many designs are kept, and which rows of the front's table. */
function drawKept() {
  const count = page.kept.filter(Boolean).length, all = page.data.trials.length;
  const front = page.data.kinds.filter((kind, row) => kind === "front" && page.kept[row]).length;
  document.getElementById("kept").textContent = count === all
    ? `${all.toLocaleString("en")} designs, ${front} of them on the front.`
    : `${count.toLocaleString("en")} of ${all.toLocaleString("en")} designs are kept, ${front} of them on the front.`;
  document.getElementById("told").textContent = page.data.told.join(" ");
  for (const line of document.querySelectorAll("#front-table tbody tr")) {
    const row = rowOf(Number(line.cells[0].textContent));
    line.classList.toggle("out", row !== null && !page.kept[row]);
    if (row === null || line.dataset.heard) continue;
    line.dataset.heard = "yes";
    const button = make("button", { type: "button", title: "compare (with Shift: as the second)", onclick: (event) => choose(rowOf(Number(button.textContent)), event.shiftKey ? 1 : 0) }, line.cells[0].textContent);
    line.cells[0].replaceChildren(button);
  }
}
