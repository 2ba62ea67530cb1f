// The charts: which are shown, in which order, and what a night says under the pointer or at the keyboard.
const nights = document.querySelector("main").dataset.nights.split(",").map((text) => {
  const [id, day] = text.split(" ").map(Number);
  return { id, date: new Date(day * 86400000).toISOString().slice(0, 10) };
});
const cards = [...document.querySelectorAll(".card")];
const groups = [...document.querySelectorAll(".group")];
const filter = document.getElementById("filter");
const state = document.getElementById("state");
const sort = document.getElementById("sort");
const shown = document.getElementById("shown");
document.querySelector(".filters").hidden = false;

function choose() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const card of cards) {
    const name = card.dataset.name.toLowerCase();
    const fits = words.every((word) => name.includes(word)) && (!state.value || card.dataset.state === state.value);
    card.hidden = !fits;
    if (fits) count += 1;
  }
  groups.forEach((group) => { group.hidden = !group.querySelector(".card:not([hidden])"); });
  shown.textContent = count === cards.length ? "" : `${count} of ${cards.length} series`;
}
filter.addEventListener("input", choose);
state.addEventListener("change", choose);

const number = (card, key) => Number(card.dataset[key] || 0);
const orders = {
  rank: (a, b) => number(a, "rank") - number(b, "rank"),
  change: (a, b) => number(b, "change") - number(a, "change"),
  noise: (a, b) => number(b, "noise") - number(a, "noise"),
  name: (a, b) => a.dataset.name.localeCompare(b.dataset.name),
};
sort.addEventListener("change", () => {
  for (const group of groups) {
    const inside = [...group.querySelectorAll(".card")].sort(orders[sort.value]);
    group.querySelector(".cards").append(...inside);
  }
});

// The numbers of a chart, taken apart when they are first asked for.
const known = new Map();

function pointsOf(chart) {
  if (!known.has(chart)) {
    const { at, median, low, high } = chart.dataset;
    const [medians, lows, highs] = [median, low, high].map((list) => list.split(" "));
    const points = [];
    for (const stretch of at.split(" ").filter(Boolean)) {
      const [first, last] = stretch.split("-").map(Number);
      for (let night = first; night <= last; night++) {
        const n = points.length;
        points.push({ night, median: medians[n], low: lows[n], high: highs[n] });
      }
    }
    known.set(chart, { points, at: points.length });
  }
  return known.get(chart);
}

const tip = document.getElementById("tip");
const said = document.getElementById("said");
const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
line.setAttribute("class", "at");

function show(chart, n) {
  const of = pointsOf(chart);
  const { night, median, low, high } = of.points[n];
  const { unit } = chart.dataset;
  of.at = n;
  const value = median === "-" ? "no value" : `${median} ${unit}`;
  const runs = low === "-" ? "" : `, runs from ${low} to ${high} ${unit}`;
  const what = `Night ${nights[night].id} (${nights[night].date})${runs}`;
  tip.firstChild.textContent = value;
  tip.lastChild.textContent = what;
  tip.hidden = false;
  const svg = chart.querySelector("svg");
  const step = svg.viewBox.baseVal.width / nights.length;
  line.setAttribute("d", `M${(night + 0.5) * step} 0V200`);
  svg.append(line);
  const box = svg.getBoundingClientRect();
  const x = box.left + (night + 0.5) / nights.length * box.width;
  const left = Math.max(8, Math.min(x - tip.offsetWidth / 2, document.documentElement.clientWidth - tip.offsetWidth - 8));
  const above = box.top - tip.offsetHeight - 6;
  tip.style.left = `${left + scrollX}px`;
  tip.style.top = `${(above > 48 ? above : box.bottom + 6) + scrollY}px`;
  return `${value}. ${what}.`;
}

function hide() {
  tip.hidden = true;
  said.textContent = "";
  line.remove();
}

const chartOf = (event) => event.target.closest?.(".chart");

function point(event) {
  const chart = chartOf(event);
  if (!chart) return hide();
  const { points } = pointsOf(chart);
  const box = chart.querySelector("svg").getBoundingClientRect();
  const night = (event.clientX - box.left) / box.width * nights.length - 0.5;
  let best = -1;
  points.forEach((each, n) => {
    if (best < 0 || Math.abs(each.night - night) < Math.abs(points[best].night - night)) best = n;
  });
  if (best < 0 || event.clientX < box.left - 8) hide(); else show(chart, best);
}
const series = document.getElementById("series");
series.addEventListener("pointermove", point);
series.addEventListener("pointerdown", point);
series.addEventListener("pointerleave", hide);
series.addEventListener("focusout", hide);
series.addEventListener("keydown", (event) => {
  const chart = chartOf(event);
  if (!chart) return;
  const { points, at } = pointsOf(chart);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: points.length - 1 }[event.key];
  if (to === undefined || points.length === 0) return;
  event.preventDefault();
  said.textContent = show(chart, Math.max(0, Math.min(points.length - 1, to)));
});
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

// The table under a chart begins with its last nights; opened, it has all of them, the latest first.
series.addEventListener("toggle", (event) => {
  const details = event.target;
  if (!details.open || !details.matches(".numbers") || details.dataset.full) return;
  details.dataset.full = "yes";
  const chart = details.closest(".card").querySelector(".chart");
  const { unit } = chart.dataset;
  const text = (value) => (value === "-" ? "none" : `${value} ${unit}`);
  const rows = pointsOf(chart).points.toReversed().map(({ night, median, low, high }) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = nights[night].id;
    const cells = [nights[night].date, text(median), text(low), text(high)].map((value, n) => {
      const cell = document.createElement("td");
      cell.textContent = value;
      if (n > 0) cell.className = "n";
      return cell;
    });
    row.append(head, ...cells);
    return row;
  });
  details.querySelector("tbody").replaceChildren(...rows);
}, true);
