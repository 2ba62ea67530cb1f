// What a machine can say about accessibility: axe-core on the page, and the contrast of the drawings, which axe does not see.
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** No rule of axe-core is broken, its best practices among them. */
export async function accessible(page, find) {
  await page.evaluate(axe);
  const broken = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { preload: false, resultTypes: ["violations"] });
    return violations.map(({ id, help, nodes }) => `${id}: ${help}; ${nodes.length} times, first ${nodes[0].html.slice(0, 160)}`);
  });
  broken.forEach((rule) => find(`axe ${rule}`));
}

/** Text of the drawings stands out from what it stands on by 4.5, marks and lines by 3. */
export async function readable(page, find) {
  const faint = await page.evaluate(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const style = getComputedStyle(document.documentElement);
    const luminance = (name) => {
      canvas.fillStyle = style.getPropertyValue(`--${name}`);
      canvas.fillRect(0, 0, 1, 1);
      const linear = (byte) => (byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
      const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(linear);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
      const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
      return (high + 0.05) / (low + 0.05);
    };
    const heat = ["cooler1", "cooler2", "cooler3", "warmer1", "warmer2", "warmer3"];
    const texts = ["ink", "muted", "simulated", "good", "bad", "open"].map((ink) => [ink, "paper", 4.5]);
    const cells = heat.map((ground) => ["ink", ground, 4.5]).concat([["muted", "still", 4.5]]);
    const marks = ["baseline", "candidate0", "candidate1", "candidate2", "candidate3", "control"].map((mark) => [mark, "paper", 3]);
    return [...texts, ...cells, ...marks]
      .map(([ink, ground, least]) => ({ ink, ground, least, is: contrast(ink, ground) }))
      .filter(({ is, least }) => !(is >= least))
      .map(({ ink, ground, is, least }) => `${ink} on ${ground} has a contrast of ${is.toFixed(2)}, below ${least}`);
  });
  faint.forEach(find);
}
