// What is shown, in which order, how near; the places of cells on the canvas. All lengths are pixels of the device.
const view = { measure: 0, residual: false, middle: false, order: [], place: [], cell: 1, x: 0, y: 0, chosen: undefined };
const canvas = document.getElementById("canvas");
const map = document.getElementById("map");
/** The nearest: a cell as large as this, or four times as large as when all are seen. */
const MOST_CELL = 64;
const MOST_NEAR = 4;
const frame = { left: 0, top: 0, size: 0 };

const natural = new Intl.Collator("en", { numeric: true });
const byName = (a, b) => natural.compare(known.nodes[a].name, known.nodes[b].name);

/** Ranks in an order; what is not known comes last. */
function ordered(by, measure) {
  const worse = (side) => (rank) => {
    const share = measure.nodes[rank][side];
    return share === null ? -Infinity : worseBy(measure, share);
  };
  const first = (key) => (a, b) => key(b) - key(a) || byName(a, b);
  const orders = {
    rank: (a, b) => a - b,
    name: byName,
    leaf: (a, b) => natural.compare(known.nodes[a].leaf ?? "￿", known.nodes[b].leaf ?? "￿") || byName(a, b),
    sends: first(worse(1)),
    receives: first(worse(3)),
  };
  return known.nodes.map((_, rank) => rank).sort(orders[by]);
}

function setOrder(by, measure) {
  view.order = ordered(by, measure);
  view.place = [];
  view.order.forEach((rank, place) => { view.place[rank] = place; });
}

/** The canvas as large as its place, with room for names at the left and above. */
function measureFrame() {
  const ratio = devicePixelRatio || 1;
  const width = Math.max(200, map.clientWidth);
  const font = 12 * ratio;
  const context = canvas.getContext("2d");
  context.font = `bold ${font}px system-ui, sans-serif`;
  const longest = Math.max(...known.nodes.map((node) => context.measureText(node.name).width));
  const margin = Math.round(Math.min(longest + 12 * ratio, width * ratio * 0.22));
  frame.font = font;
  frame.ratio = ratio;
  frame.left = margin;
  frame.top = margin;
  frame.size = Math.round(width * ratio) - margin;
  canvas.width = frame.left + frame.size;
  canvas.height = frame.top + frame.size;
}

/** The least cell: all are seen, and none is thinner than a pixel, since what is not drawn cannot be found. */
const fitting = () => Math.max(1, frame.size / count);
const clamp = (number, low, high) => Math.min(high, Math.max(low, number));

/** Keeps the map within its frame. */
function settle() {
  view.cell = clamp(view.cell, fitting(), Math.max(MOST_CELL * frame.ratio, MOST_NEAR * fitting()));
  const most = Math.max(0, count - frame.size / view.cell);
  view.x = clamp(view.x, 0, most);
  view.y = clamp(view.y, 0, most);
  map.classList.toggle("closer", view.cell > fitting() * 1.001);
}

/** Comes closer by a factor, around a point of the canvas. */
function zoom(factor, x = frame.left + frame.size / 2, y = frame.top + frame.size / 2) {
  const [column, row] = [view.x + (x - frame.left) / view.cell, view.y + (y - frame.top) / view.cell];
  view.cell *= factor;
  settle();
  view.x = column - (x - frame.left) / view.cell;
  view.y = row - (y - frame.top) / view.cell;
  settle();
}

function fit() {
  Object.assign(view, { cell: fitting(), x: 0, y: 0 });
  settle();
}

/** Moves a cell into sight. */
function reveal({ row, column }) {
  const shown = frame.size / view.cell;
  const into = (from, place) => (place < from ? place : place + 1 > from + shown ? place + 1 - shown : from);
  view.x = into(view.x, view.place[column]);
  view.y = into(view.y, view.place[row]);
  settle();
}

/** The pair under a point of the page; none beside the map. */
function pairAt(event) {
  const box = canvas.getBoundingClientRect();
  const scale = canvas.width / box.width;
  const column = Math.floor(view.x + ((event.clientX - box.left) * scale - frame.left) / view.cell);
  const row = Math.floor(view.y + ((event.clientY - box.top) * scale - frame.top) / view.cell);
  const inside = (event.clientX - box.left) * scale >= frame.left && (event.clientY - box.top) * scale >= frame.top;
  if (!inside || row < 0 || column < 0 || row >= count || column >= count) return undefined;
  return { row: view.order[row], column: view.order[column] };
}

/** Where a cell is on the canvas. */
const boxOf = ({ row, column }) => ({ x: frame.left + (view.place[column] - view.x) * view.cell, y: frame.top + (view.place[row] - view.y) * view.cell });
