// Numbers as the rest of the page writes them: with a unit and three digits.
const UNITS = {
  bandwidth: [[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "kb/s"], [1, "b/s"]],
  message_rate: [[1e6, "M msg/s"], [1e3, "k msg/s"], [1, "msg/s"]],
};
const TIME = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

function scaled(value, units) {
  if (Number.isNaN(value) || value === null || value === undefined) return "none";
  const rounded = Number(value.toPrecision(3));
  const [unit, name] = units.find(([unit]) => Math.abs(rounded) >= unit) ?? units.at(-1);
  const number = rounded / unit;
  const whole = number === 0 ? 1 : Math.floor(Math.log10(Math.abs(number)) + 1e-9) + 1;
  return `${number.toFixed(Math.max(0, 3 - Math.max(whole, 1)))} ${name}`;
}
const valueOf = (metric, value) => scaled(value, UNITS[metric] ?? TIME);
const timeOf = (ns) => scaled(ns, TIME);

/** A message size: `64 KiB`. */
function sizeOf(bytes) {
  const [unit, name] = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]].find(([unit]) => bytes >= unit && bytes % unit === 0) ?? [1, "B"];
  return `${bytes / unit} ${name}`;
}

/** A share as a change: `−22.0%`. */
function changeOf(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "none";
  const text = `${Math.abs(share * 100).toFixed(1)}%`;
  if (text === "0.0%") return text;
  return (share < 0 ? "−" : "+") + text;
}

/** By how much a deviation is for the worse. */
const worseBy = (measure, share) => (measure.higher_is_better ? -share : share);

const SAID = ["measured", "not usable", "could not run", "not measured"];

/** A name for a shell. */
const quoted = (name) => (/^[\w.:@%+-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);

/** An element with text and classes. */
function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}
