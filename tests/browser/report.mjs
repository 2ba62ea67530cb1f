// Opens reports from disk at the width of a desk and of a phone, in light, in dark, on paper and without scripts, and fails on
// anything a reader would stumble over. Needs no network and proves that the reports need none either.
//
//   node report.mjs OUTDIR REPORT.html..
import { stat } from "node:fs/promises";
import { accessible, readable } from "./accessible.mjs";
import { DESK, PHONE, lookAt } from "./browser.mjs";
import { choices, figures, labels, values } from "./figures.mjs";
import { allParts, openAllButton, openByKeyboard, noOverflow, themes, verdictStays } from "./page.mjs";
import { onPaper } from "./print.mjs";

const PARTS = ["#effects", "#workload-1", "#differences", "#method", "#environment"];
// A page larger than this is looked at as it opens: with all parts open, axe takes minutes.
const LARGE_BYTES = 800_000;

await lookAt("reports", async (report, visit) => {
  const large = (await stat(report)).size > LARGE_BYTES;
  await visit("1280-light", { viewport: DESK, colorScheme: "light" }, (page, find) => asOnDesk(page, find, large));
  await visit("1280-dark", { viewport: DESK, colorScheme: "dark" }, accessibleAndReadable);
  await visit("390-light", { viewport: PHONE, colorScheme: "light" }, onPhone);
  await visit("print", { viewport: DESK, colorScheme: "dark" }, (page, find, file) => onPaper(page, find, file, PARTS), { whole: false });
  await visit("no-script", { viewport: DESK, javaScriptEnabled: false }, withoutScripts, { whole: false });
});

async function asOnDesk(page, find, large) {
  await noOverflow(page, find, "as opened");
  await accessible(page, find);
  await readable(page, find);
  await verdictStays(page, find);
  await openByKeyboard(page, find, large ? 3 : Infinity);
  await openAllButton(page, find);
  await noOverflow(page, find, "with all parts open");
  if (!large) await accessible(page, find);
  await figures(page, find);
  await labels(page, find);
  await choices(page, find);
  await values(page, find);
  await themes(page, find);
}

async function accessibleAndReadable(page, find) {
  await accessible(page, find);
  await readable(page, find);
}

async function onPhone(page, find) {
  await noOverflow(page, find, "as opened");
  await accessible(page, find);
  await openAllButton(page, find);
  await noOverflow(page, find, "with all parts open");
  await figures(page, find);
  await values(page, find);
  await verdictStays(page, find);
}

async function withoutScripts(page, find) {
  await allParts(page, find, "without scripts", PARTS);
  await figures(page, find, { openOnly: true });
  if (await page.locator(".controls").isVisible()) find("controls that do nothing are shown without scripts");
}
