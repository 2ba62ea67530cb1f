// Colours that are told apart by their lightness alone, in even steps as the eye sees them (OKLCH), and so by everyone. What is
// worse is further from the ground: darker on white, lighter on black. Deviations for the worse are orange, for the better blue.
const RAMPS = {
  value: {
    light: [[0.96, 0.02, 110], [0.79, 0.11, 80], [0.62, 0.16, 45], [0.45, 0.16, 15], [0.28, 0.10, 330]],
    dark: [[0.30, 0.03, 270], [0.46, 0.12, 310], [0.62, 0.17, 10], [0.78, 0.14, 60], [0.94, 0.09, 100]],
  },
  residual: {
    light: [[0.50, 0.13, 255], [0.735, 0.09, 250], [0.97, 0.005, 100], [0.735, 0.12, 60], [0.50, 0.14, 40]],
    dark: [[0.80, 0.10, 245], [0.55, 0.10, 255], [0.30, 0.01, 270], [0.55, 0.11, 50], [0.80, 0.14, 70]],
  },
};

/** Lightness, and how green or red, how blue or yellow. */
function oklab([lightness, chroma, hue]) {
  const turn = hue * Math.PI / 180;
  return [lightness, chroma * Math.cos(turn), chroma * Math.sin(turn)];
}

function rgb([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
  ];
  return linear.map((x) => {
    const within = Math.min(1, Math.max(0, x));
    return Math.round(255 * (within <= 0.0031308 ? 12.92 * within : 1.055 * within ** (1 / 2.4) - 0.055));
  });
}

/** 256 colours between the stops, as bytes in the order of canvases. */
function ramp(stops) {
  const bytes = new Uint8ClampedArray(256 * 4);
  for (let n = 0; n < 256; n++) {
    const at = n / 255 * (stops.length - 1);
    const first = Math.min(Math.floor(at), stops.length - 2);
    const [from, to] = [oklab(stops[first]), oklab(stops[first + 1])];
    const mixed = from.map((of, axis) => of + (to[axis] - of) * (at - first));
    bytes.set([...rgb(mixed), 255], n * 4);
  }
  return bytes;
}

const paper = matchMedia("print");
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => !paper.matches && (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** What a measure's numbers are coloured by: from the best to the worst of them, or around nothing. */
function scaleOf(measure, numbers, residual, middle) {
  const there = numbers.filter((number) => !Number.isNaN(number)).sort();
  if (there.length === 0) return { place: () => 0, ends: ["none", "none"] };
  const quantile = (share) => there[Math.round(share * (there.length - 1))];
  const [low, high] = middle ? [quantile(0.01), quantile(0.99)] : [there[0], there.at(-1)];
  const [first, last] = middle ? ["≤ ", "≥ "] : ["", ""];
  if (residual) {
    const most = Math.max(Math.abs(low), Math.abs(high), measure.margin);
    const place = (number) => 127.5 + 127.5 * worseBy(measure, number) / most;
    const ends = [worseBy(measure, -most), worseBy(measure, most)].map((share) => (share < 0 ? first : last) + changeOf(share));
    return { place, ends };
  }
  const span = high - low || 1;
  const text = [first + valueOf(measure.metric, low), last + valueOf(measure.metric, high)];
  if (measure.higher_is_better) return { place: (number) => 255 * (high - number) / span, ends: text.reverse() };
  return { place: (number) => 255 * (number - low) / span, ends: text };
}
