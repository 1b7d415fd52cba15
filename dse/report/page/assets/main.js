"use strict";
// Opens the page, and while a study runs asks for what has changed.

const LATER = [drawParallel, drawImportance, drawCourse, drawBreakdowns];

/** Links to sections alone that hold something: those of a running study fill one by one. */
function linkSections() {
  for (const link of document.querySelectorAll("nav a")) {
    link.hidden = !document.getElementById(link.hash.slice(1, -"-head".length))?.firstChild;
  }
}

function drawAll() {
  linkSections();
  if (!document.getElementById("cloud") || !page.data.trials.length) {
    document.body.dataset.drawn = "yes";
    return;
  }
  drawCloud();
  drawCompare();
  drawKept();
  page.views = [(rows) => { if (rows) { plotCloud(); drawKept(); drawFilters(); } paintParallel(); drawCompare(); }];
  let next = 0;
  // the front is there first; what lies below follows piece by piece, so that nothing waits for it
  const step = () => {
    if (next < LATER.length) { LATER[next++](); setTimeout(step, 0); } else document.body.dataset.drawn = "yes";
  };
  page.finish = () => { while (next < LATER.length) LATER[next++](); drawAllWaiting(); };
  step();
}

/** All pictures as wide as the paper, or as the window again; none is left out there. */
function resizeAll() {
  page.finish?.();
  for (const plot of document.querySelectorAll(".plot")) {
    const wide = page.printing ? { width: 680 } : { width: null, autosize: true };
    if (plot.data) Plotly.relayout(plot, wide);
  }
  if (page.data?.trials.length) paintParallel();
}

function watchPaper() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (printing) => () => {
    page.printing = printing;
    document.documentElement.toggleAttribute("data-paper", printing);
    if (dark.matches && page.data) drawAll(); // paper is light
    document.getElementById("parallel")?.style.setProperty("width", printing ? "680px" : "");
    resizeAll();
  };
  window.addEventListener("beforeprint", set(true));
  window.addEventListener("afterprint", set(false));
  window.addEventListener("resize", () => page.data?.trials.length && paintParallel());
  dark.addEventListener("change", drawAll);
  document.getElementById("clear")?.addEventListener("click", clearAll);
}

/** Ask a running study for news; sections come as HTML of its own page. */
async function listen(address) {
  try {
    const answer = await fetch(`${address}?seen=${encodeURIComponent(document.body.dataset.version)}`);
    if (answer.status === 200) {
      const news = await answer.json();
      document.body.dataset.version = news.version;
      for (const [id, html] of Object.entries(news.sections)) {
        const place = document.getElementById(id);
        if (place) place.innerHTML = html;
      }
      takeData(news.data);
      drawAll();
    }
  } catch {
    document.getElementById("said").textContent = "The server does not answer any more; the page shows what it last told.";
  }
  setTimeout(() => listen(address), 2000);
}

takeData(JSON.parse(document.getElementById("data").textContent));
if (window.Plotly) { drawAll(); watchPaper(); }
if (document.body.dataset.live) listen(document.body.dataset.live);
