// Opens dashboards of a history as report.mjs opens reports: at a desk, on a phone, in the dark, on paper, without scripts.
//
//   node dashboard.mjs OUTDIR DASHBOARD.html..
import { stat } from "node:fs/promises";
import { accessible, readable } from "./accessible.mjs";
import { DESK, PHONE, lookAt } from "./browser.mjs";
import { allNights, charts, chosen, leads, nights, speed } from "./charts.mjs";
import { allParts, openAllButton, openByKeyboard, noOverflow, themes, verdictStays } from "./page.mjs";
import { onPaper } from "./print.mjs";

const PARTS = ["#series", "#group-1", "#remarks", "#rules"];
// What a year of nights of 200 series may take.
const MOST_BYTES = 5_000_000;
// A page larger than this has hundreds of charts: axe and paper are left to the small ones, which have every part it has.
const LARGE_BYTES = 800_000;

await lookAt("dashboards", async (dashboard, visit) => {
  const { size } = await stat(dashboard);
  const large = size > LARGE_BYTES;
  await visit("1280-light", { viewport: DESK, colorScheme: "light" }, (page, find) => asOnDesk(page, find, size), { whole: !large });
  await visit("390-light", { viewport: PHONE, colorScheme: "light" }, onPhone, { whole: !large });
  await visit("no-script", { viewport: DESK, javaScriptEnabled: false }, withoutScripts, { whole: false });
  if (large) return;
  await visit("1280-dark", { viewport: DESK, colorScheme: "dark" }, accessibleAndReadable);
  await visit("print", { viewport: DESK, colorScheme: "dark" }, (page, find, file) => onPaper(page, find, file, PARTS), { whole: false });
});

async function asOnDesk(page, find, size) {
  await speed(page, find);
  if (size > MOST_BYTES) find(`has ${size} bytes, more than ${MOST_BYTES}`);
  await noOverflow(page, find, "as opened");
  await charts(page, find);
  await verdictStays(page, find);
  if (size < LARGE_BYTES) await accessibleAndReadable(page, find);
  await openByKeyboard(page, find, 3);
  if ((await page.locator("details:not(.numbers)").count()) > 0) await openAllButton(page, find);
  await nights(page, find);
  await allNights(page, find);
  await chosen(page, find);
  await noOverflow(page, find, "with all parts open");
  await themes(page, find);
  await leads(page, find);
}

async function accessibleAndReadable(page, find) {
  await accessible(page, find);
  await readable(page, find);
}

async function onPhone(page, find) {
  await noOverflow(page, find, "as opened");
  await charts(page, find);
  await nights(page, find);
  await verdictStays(page, find);
}

async function withoutScripts(page, find) {
  await allParts(page, find, "without scripts", PARTS);
  await charts(page, find);
  for (const controls of await page.locator(".controls").all()) {
    if (await controls.isVisible()) find("controls that do nothing are shown without scripts");
  }
}
