// The map and what is done with it: at the pointer, at the keyboard, by the controls.
const tip = document.getElementById("tip");
const said = document.getElementById("said");
const control = (id) => document.getElementById(id);

function start(data) {
  const measure = () => data.measures[view.measure];
  control("figure").hidden = false;
  document.querySelectorAll(".show").forEach((button) => { button.hidden = false; });

  function all() {
    view.measure = Number(control("measure").value);
    view.residual = control("shown").value === "residual";
    view.middle = control("scale").value === "middle";
    setOrder(control("order").value, measure());
    map.setAttribute("aria-label", `All pairs by ${measure().name}: a row a requester, a column a responder`);
    paint(data);
    fillNodes(measure());
    fillRow(data);
    if (view.chosen) showPair(data);
    draw();
  }

  function choose(pair, { speak = true } = {}) {
    view.chosen = pair;
    reveal(pair);
    showPair(data);
    fillRow(data);
    redraw();
    if (speak) said.textContent = `${nameOf(pair)}: ${told(data, pair)}`;
  }

  function hover(pair, event) {
    tip.firstChild.textContent = nameOf(pair);
    tip.lastChild.textContent = told(data, pair);
    tip.hidden = false;
    const left = clamp(event.clientX + 14, 8, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10) + scrollY}px`;
  }

  const hide = () => { tip.hidden = true; };
  const scaled = (event) => {
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    return { x: (event.clientX - box.left) * scale, y: (event.clientY - box.top) * scale, scale };
  };

  let drag;
  map.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { x: event.clientX, y: event.clientY, moved: false };
  });
  map.addEventListener("pointermove", (event) => {
    if (drag && event.buttons === 1) {
      const { scale } = scaled(event);
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (drag.moved || Math.hypot(dx, dy) > 4) {
        if (!drag.moved) map.setPointerCapture(event.pointerId);
        view.x -= dx * scale / view.cell;
        view.y -= dy * scale / view.cell;
        drag = { x: event.clientX, y: event.clientY, moved: true };
        map.classList.add("dragged");
        settle();
        hide();
        redraw();
      }
      return;
    }
    const pair = pairAt(event);
    if (pair) hover(pair, event); else hide();
  });
  map.addEventListener("pointerup", (event) => {
    const moved = drag?.moved;
    drag = undefined;
    map.classList.remove("dragged");
    const pair = pairAt(event);
    if (!moved && pair) choose(pair);
  });
  for (const end of ["pointerleave", "pointercancel"]) map.addEventListener(end, () => { drag = undefined; hide(); map.classList.remove("dragged"); });
  map.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== map) return;
    const { x, y } = scaled(event);
    const before = view.cell;
    zoom(2 ** (-event.deltaY / (event.deltaMode === 1 ? 10 : 300)), x, y);
    // At the ends the wheel is the page's again.
    if (view.cell === before && !event.ctrlKey) return;
    event.preventDefault();
    hide();
    redraw();
  }, { passive: false });

  map.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = view.chosen ?? { row: view.order[0], column: view.order[Math.min(1, count - 1)] };
    const [row, column] = [view.place[at.row], view.place[at.column]];
    const to = {
      ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1], ArrowDown: [row + 1, column], ArrowUp: [row - 1, column],
      Home: [row, 0], End: [row, count - 1], PageUp: [row - 10, column], PageDown: [row + 10, column],
    }[event.key];
    if (to) {
      const [row, column] = to.map((place) => view.order[clamp(place, 0, count - 1)]);
      choose(view.chosen ? { row, column } : at);
    } else if (event.key === "+" || event.key === "=") { zoom(1.5); redraw(); }
    else if (event.key === "-") { zoom(1 / 1.5); redraw(); }
    else if (event.key === "0") { fit(); redraw(); }
    else if (event.key === "Enter" && view.chosen) said.textContent = panel.innerText.slice(0, 600);
    else if (event.key === "Escape") hide();
    else return;
    event.preventDefault();
  });

  control("in").addEventListener("click", () => { zoom(1.5); redraw(); });
  control("out").addEventListener("click", () => { zoom(1 / 1.5); redraw(); });
  control("fit").addEventListener("click", () => { fit(); redraw(); });
  for (const id of ["measure", "shown", "order", "scale"]) control(id).addEventListener("change", all);
  control("row").addEventListener("toggle", () => fillRow(data));
  document.querySelectorAll(".show").forEach((button) => button.addEventListener("click", () => {
    const { measure, row, column } = button.dataset;
    control("measure").value = measure;
    all();
    control("pairs").scrollIntoView();
    map.focus({ preventScroll: true });
    choose({ row: Number(row), column: Number(column) });
  }));
  heads.forEach((head) => {
    const button = element("button", head.textContent);
    button.type = "button";
    // On paper the name stands there instead of the button.
    head.dataset.name = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sortNodes(head, measure()));
  });

  const resized = () => {
    const near = frame.size ? view.cell / fitting() : 1;
    measureFrame();
    view.cell = fitting() * near;
    settle();
    draw();
  };
  measureFrame();
  all();
  fit();
  draw();
  new ResizeObserver(resized).observe(map);
  const recolour = () => { paint(data); draw(); };
  theme.addEventListener("change", recolour);
  system.addEventListener("change", recolour);
  paper.addEventListener("change", recolour);
  document.body.dataset.drawn = Math.round(performance.now());
}

if (known) {
  unpacked().then((bytes) => start(columns(bytes))).catch((cause) => {
    control("pairs").append(element("p", `The map cannot be drawn here: ${cause.message}`, "warning"));
    console.error(cause);
  });
}
