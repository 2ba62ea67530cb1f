// The map on its canvas: an image of one pixel a cell, enlarged without smoothing, with patterns over what has no value.
const image = document.createElement("canvas");
let states = [];
let coloured = { place: () => 0, ends: ["", ""] };

/** Lines across a tile: nobody asked; crossed: could not run; dots: not usable. In pixels of the device, so that they show at any size. */
function tile(kind, size = 8) {
  const made = document.createElement("canvas");
  made.width = made.height = size;
  const context = made.getContext("2d");
  context.fillStyle = kind === NONE ? token("paper") : token("still");
  context.fillRect(0, 0, size, size);
  context.fillStyle = kind === NONE ? token("line") : token("muted");
  context.globalAlpha = kind === INVALID ? 1 : 0.6;
  for (let n = 0; n < size; n++) {
    if (kind !== INVALID) context.fillRect(n, size - 1 - n, 1, 1);
    if (kind === FAILED) context.fillRect(n, n, 1, 1);
    if (kind === INVALID && n % 4 === 1) context.fillRect(n, n, 2, 2);
  }
  return made;
}

/** Colours every cell anew: after another measure, order, scale or theme. */
function paint(data) {
  const measure = data.measures[view.measure];
  const numbers = view.residual ? measure.residuals : measure.values;
  states = outcomes(data.runs, measure);
  coloured = scaleOf(measure, numbers, view.residual, view.middle);
  const palette = new Uint32Array(ramp(RAMPS[view.residual ? "residual" : "value"][isDark() ? "dark" : "light"]).buffer);
  image.width = image.height = count;
  const context = image.getContext("2d");
  const pixels = context.createImageData(count, count);
  const cells = new Uint32Array(pixels.data.buffer);
  for (let row = 0; row < count; row++) {
    const from = view.order[row] * count;
    for (let column = 0; column < count; column++) {
      const number = numbers[from + view.order[column]];
      if (!Number.isNaN(number)) cells[row * count + column] = palette[clamp(Math.round(coloured.place(number)), 0, 255)];
    }
  }
  context.putImageData(pixels, 0, 0);
  legend(palette);
}

function legend(palette) {
  const context = document.getElementById("ramp").getContext("2d");
  const pixels = context.createImageData(256, 12);
  const cells = new Uint32Array(pixels.data.buffer);
  for (let n = 0; n < cells.length; n++) cells[n] = palette[n % 256];
  context.putImageData(pixels, 0, 0);
  document.getElementById("worst").textContent = `best ${coloured.ends[0]}`;
  document.getElementById("best").textContent = `worst ${coloured.ends[1]}`;
  for (const [id, kind] of [["none", NONE], ["failed", FAILED], ["invalid", INVALID]]) {
    const swatch = document.getElementById(`swatch-${id}`).getContext("2d");
    swatch.fillStyle = swatch.createPattern(tile(kind), "repeat");
    swatch.fillRect(0, 0, 16, 16);
  }
}

/** What has no value, as few rectangles: cells side by side are one. */
function drawStates(context, from, to) {
  const patterns = [INVALID, FAILED].map((kind) => [kind, context.createPattern(tile(kind), "repeat")]);
  for (const [kind, pattern] of patterns) {
    context.fillStyle = pattern;
    for (let row = from.row; row < to.row; row++) {
      for (let column = from.column; column < to.column; column++) {
        const is = (at) => at < to.column && states[view.order[row] * count + view.order[at]] === kind;
        if (!is(column)) continue;
        const first = column;
        while (is(column + 1)) column += 1;
        context.fillRect(frame.left + (first - view.x) * view.cell, frame.top + (row - view.y) * view.cell, (column - first + 1) * view.cell, view.cell);
      }
    }
  }
}

/** Lines between cells, where these are large enough, and between leaf switches, where these are sorted by. */
function drawLines(context, from, to) {
  const line = (place, style, width) => {
    context.fillStyle = style;
    context.fillRect(Math.round(frame.left + (place - view.x) * view.cell - width / 2), frame.top, width, frame.size);
    context.fillRect(frame.left, Math.round(frame.top + (place - view.y) * view.cell - width / 2), frame.size, width);
  };
  if (view.cell >= 8 * frame.ratio) {
    const first = Math.min(from.row, from.column);
    for (let place = first; place <= Math.max(to.row, to.column); place++) line(place, token("paper"), 1);
  }
  if (document.getElementById("order").value !== "leaf") return;
  context.globalAlpha = 0.4;
  for (let place = 1; place < count; place++) {
    const [one, next] = [view.order[place - 1], view.order[place]];
    if (known.nodes[one].leaf !== known.nodes[next].leaf) line(place, token("ink"), Math.max(1, frame.ratio));
  }
  context.globalAlpha = 1;
}

/** Names at the left and above, as many as there is room for. */
function drawNames(context, from, to) {
  const step = Math.max(1, Math.ceil(frame.font * 1.25 / view.cell));
  const short = (name) => {
    let text = name;
    while (text.length > 2 && context.measureText(text).width > frame.left - 8 * frame.ratio) text = `…${text.slice(2)}`;
    return text;
  };
  context.font = `${frame.font}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.clearRect(0, 0, canvas.width, frame.top);
  context.clearRect(0, 0, frame.left, canvas.height);
  const chosen = view.chosen;
  const name = (place, rank, is, x, y, turned) => {
    context.save();
    context.fillStyle = is ? token("ink") : token("muted");
    context.font = `${is ? "bold " : ""}${frame.font}px system-ui, sans-serif`;
    context.translate(x, y);
    if (turned) context.rotate(-Math.PI / 2);
    context.textAlign = turned ? "left" : "right";
    context.fillText(short(known.nodes[rank].name), 0, 0);
    context.restore();
  };
  const gap = 4 * frame.ratio;
  for (let place = Math.ceil(view.y / step) * step; place < to.row; place += step) {
    const y = frame.top + (place + 0.5 - view.y) * view.cell;
    if (!(chosen && Math.abs(view.place[chosen.row] - place) * view.cell < frame.font)) name(place, view.order[place], false, frame.left - gap, y, false);
  }
  for (let place = Math.ceil(view.x / step) * step; place < to.column; place += step) {
    const x = frame.left + (place + 0.5 - view.x) * view.cell;
    if (!(chosen && Math.abs(view.place[chosen.column] - place) * view.cell < frame.font)) name(place, view.order[place], false, x, frame.top - gap, true);
  }
  if (!chosen) return;
  const box = boxOf(chosen);
  if (box.y >= frame.top - 1) name(0, chosen.row, true, frame.left - gap, box.y + view.cell / 2, false);
  if (box.x >= frame.left - 1) name(0, chosen.column, true, box.x + view.cell / 2, frame.top - gap, true);
}

/** The chosen cell in its row and column. */
function drawChosen(context) {
  if (!view.chosen) return;
  const { x, y } = boxOf(view.chosen);
  const width = Math.max(2, 2 * frame.ratio);
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.size, frame.size);
  context.clip();
  context.fillStyle = token("candidate0");
  context.globalAlpha = 0.75;
  for (const at of [y - 1, y + view.cell]) context.fillRect(frame.left, at, frame.size, 1);
  for (const at of [x - 1, x + view.cell]) context.fillRect(at, frame.top, 1, frame.size);
  context.globalAlpha = 1;
  const size = Math.max(view.cell, 5 * frame.ratio);
  const off = (size - view.cell) / 2;
  context.lineWidth = width + 2 * frame.ratio;
  context.strokeStyle = token("paper");
  context.strokeRect(x - off, y - off, size, size);
  context.lineWidth = width;
  context.strokeStyle = token("ink");
  context.strokeRect(x - off, y - off, size, size);
  context.restore();
}

function draw() {
  const context = canvas.getContext("2d");
  const shown = Math.min(count, Math.ceil(frame.size / view.cell) + 1);
  const from = { row: Math.floor(view.y), column: Math.floor(view.x) };
  const to = { row: Math.min(count, from.row + shown), column: Math.min(count, from.column + shown) };
  context.imageSmoothingEnabled = false;
  context.fillStyle = context.createPattern(tile(NONE), "repeat");
  context.fillRect(0, 0, canvas.width, canvas.height);
  const size = frame.size / view.cell;
  context.drawImage(image, view.x, view.y, size, size, frame.left, frame.top, frame.size, frame.size);
  drawStates(context, from, to);
  context.fillStyle = token("line");
  for (let place = Math.max(from.row, from.column); place < Math.min(to.row, to.column); place++) {
    context.fillRect(frame.left + (place - view.x) * view.cell, frame.top + (place - view.y) * view.cell, view.cell, view.cell);
  }
  drawLines(context, from, to);
  drawChosen(context);
  drawNames(context, from, to);
}

let asked = false;
/** Draws once before the next picture, however often it is asked for. */
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}
