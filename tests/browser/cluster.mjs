// Opens pages of clusters as report.mjs opens reports: at a desk, on a phone, in the dark, on paper, without scripts.
//
//   node cluster.mjs OUTDIR CLUSTER.html..
import { stat } from "node:fs/promises";
import { accessible, readable } from "./accessible.mjs";
import { DESK, PHONE, lookAt } from "./browser.mjs";
import { chosenByKeyboard, chosenByPointer, colours, drawn, findingsLead, hovered, ordered, sortedNodes, toggles, zoomed } from "./map.mjs";
import { allParts, noOverflow, themes, verdictStays } from "./page.mjs";
import { onPaper } from "./print.mjs";

const PARTS = ["#nodes", "#rounds", "#methods"];
// What 512 nodes with four measures both ways may take.
const MOST_BYTES = 20_000_000;
// A larger page has tables of hundreds of rows: axe and paper are left to the small ones, which have every part it has.
const LARGE_BYTES = 1_000_000;

await lookAt("clusters", async (cluster, visit) => {
  const { size } = await stat(cluster);
  const large = size > LARGE_BYTES;
  await visit("1280-light", { viewport: DESK, colorScheme: "light" }, (page, find, file) => asOnDesk(page, find, file, size), { whole: false });
  await visit("390-light", { viewport: PHONE, colorScheme: "light", deviceScaleFactor: 2, hasTouch: true }, onPhone, { whole: false });
  await visit("no-script", { viewport: DESK, javaScriptEnabled: false }, withoutScripts, { whole: false });
  await visit("1280-dark", { viewport: DESK, colorScheme: "dark" }, (page, find, file) => inTheDark(page, find, file, large), { whole: false });
  if (large) return;
  await visit("print", { viewport: DESK, colorScheme: "dark" }, printed, { whole: false });
});

async function asOnDesk(page, find, file, size) {
  await drawn(page, find);
  if (size > MOST_BYTES) find(`has ${size} bytes, more than ${MOST_BYTES}`);
  await noOverflow(page, find, "as opened");
  await verdictStays(page, find);
  await colours(page, find);
  await toggles(page, find);
  await ordered(page, find);
  await hovered(page, find);
  await chosenByPointer(page, find);
  await chosenByKeyboard(page, find);
  await zoomed(page, find);
  await sortedNodes(page, find);
  await findingsLead(page, find);
  await noOverflow(page, find, "with a pair chosen");
  if (size < LARGE_BYTES) {
    await accessible(page, find);
    await readable(page, find);
  }
  await page.screenshot({ path: `${file}.png`, fullPage: size < LARGE_BYTES });
  await themes(page, find);
}

async function inTheDark(page, find, file, large) {
  await drawn(page, find);
  await colours(page, find);
  await findingsLead(page, find);
  if (!large) {
    await accessible(page, find);
    await readable(page, find);
  }
  await page.locator("#pairs").screenshot({ path: `${file}.png` });
}

async function onPhone(page, find, file) {
  await drawn(page, find);
  await noOverflow(page, find, "as opened");
  await verdictStays(page, find);
  await chosenByPointer(page, find);
  await zoomed(page, find);
  await noOverflow(page, find, "with a pair chosen");
  await page.locator("#pairs").screenshot({ path: `${file}.png` });
}

async function printed(page, find, file) {
  await drawn(page, find);
  await onPaper(page, find, file, PARTS);
  await colours(page, find, { light: true });
}

async function withoutScripts(page, find) {
  await allParts(page, find, "without scripts", PARTS);
  for (const controls of await page.locator(".controls, .show").all()) {
    if (await controls.isVisible()) find("controls that do nothing are shown without scripts");
  }
  if (!(await page.locator("noscript").isVisible())) find("nothing says why there is no map");
}
