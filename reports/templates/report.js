// Values: a spot of a drawing stands for a cell of the table under it, which is where its text comes from.
const tip = document.getElementById("tip");
const said = document.getElementById("said");
const ring = document.getElementById("ring");
// How far from a spot the pointer may be, in units of the drawing.
const NEAR = 70;
const known = new Map();

function spotsOf(plot) {
  if (!known.has(plot)) {
    const spot = (text) => { const [x, y, row, column] = text.split(" ").map(Number); return { x, y, row, column }; };
    const text = plot.dataset.spots;
    known.set(plot, { list: text ? text.split(",").map(spot) : [], at: -1 });
  }
  return known.get(plot);
}

function wordsOf(plot, spot) {
  const table = plot.closest("figure").querySelector(".numbers table");
  const row = table.tBodies[0].rows[spot.row];
  return { what: `${row.cells[0].textContent}, ${table.tHead.rows[0].cells[spot.column + 1].textContent}`, value: row.cells[spot.column + 1].textContent };
}

function show(plot, at) {
  const spots = spotsOf(plot);
  const spot = spots.list[at];
  const svg = plot.querySelector("svg");
  const { what, value } = wordsOf(plot, spot);
  spots.at = at;
  tip.firstChild.textContent = value;
  tip.lastChild.textContent = what;
  tip.hidden = false;
  ring.setAttribute("cx", spot.x);
  ring.setAttribute("cy", spot.y);
  svg.append(ring);
  const box = svg.getBoundingClientRect();
  const unit = box.width / svg.viewBox.baseVal.width;
  const x = box.left + spot.x * unit, y = box.top + spot.y * unit;
  const left = Math.max(8, Math.min(x - tip.offsetWidth / 2, document.documentElement.clientWidth - tip.offsetWidth - 8));
  const above = y - tip.offsetHeight - 16;
  tip.style.left = `${left + scrollX}px`;
  tip.style.top = `${(above > 48 ? above : y + 18) + scrollY}px`;
  return `${value}. ${what}.`;
}

function hide() {
  tip.hidden = true;
  said.textContent = "";
  ring.remove();
}

for (const plot of document.querySelectorAll(".plot")) {
  const svg = plot.querySelector("svg");
  const point = (event) => {
    const box = svg.getBoundingClientRect();
    const unit = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * unit, y = (event.clientY - box.top) * unit;
    let best = -1, least = NEAR;
    spotsOf(plot).list.forEach((spot, at) => {
      const off = Math.hypot(spot.x - x, spot.y - y);
      if (off < least) { best = at; least = off; }
    });
    if (best < 0) hide(); else show(plot, best);
  };
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("scroll", hide);
  plot.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return hide();
    const { list, at } = spotsOf(plot);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: list.length - 1 }[event.key];
    if (to === undefined || list.length === 0) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(list.length - 1, to));
    const unit = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    plot.scrollLeft = list[next].x * unit - plot.clientWidth / 2;
    // The scroll hides what was shown; then the next is shown.
    requestAnimationFrame(() => requestAnimationFrame(() => { said.textContent = show(plot, next); }));
  });
}
document.querySelectorAll(".choices input").forEach((input) => input.addEventListener("change", hide));
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
