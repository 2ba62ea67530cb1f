// Opens reports from disk at the width of a desk and of a phone, in light, in dark, on paper and without scripts, and fails on
// anything a reader would stumble over. Needs no network and proves that the reports need none either.
//
//   node report.mjs OUTDIR REPORT.html..
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { accessible, readable } from "./accessible.mjs";
import { choices, figures, labels, values } from "./figures.mjs";
import { allParts, openAllButton, openByKeyboard, noOverflow, themes, verdictStays } from "./page.mjs";
import { onPaper } from "./print.mjs";

const [outdir, ...reports] = process.argv.slice(2);
if (!outdir || reports.length === 0) {
  console.error("usage: node report.mjs OUTDIR REPORT.html..");
  process.exit(2);
}
const DESK = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
// A page larger than this is looked at as it opens: with all parts open, axe takes minutes.
const LARGE_BYTES = 800_000;

const findings = [];
let seen = 0;
await mkdir(outdir, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});
try {
  for (const report of reports) {
    const large = (await stat(report)).size > LARGE_BYTES;
    await visit(report, "1280-light", { viewport: DESK, colorScheme: "light" }, (page, find) => asOnDesk(page, find, large));
    await visit(report, "1280-dark", { viewport: DESK, colorScheme: "dark" }, accessibleAndReadable);
    await visit(report, "390-light", { viewport: PHONE, colorScheme: "light" }, onPhone);
    await visit(report, "print", { viewport: DESK, colorScheme: "dark" }, onPaper, { whole: false });
    await visit(report, "no-script", { viewport: DESK, javaScriptEnabled: false }, withoutScripts, { whole: false });
  }
} finally {
  await browser.close();
}
for (const finding of findings) console.error(`FINDING ${finding}`);
console.log(`${reports.length} reports, ${seen} views, ${findings.length} findings, screenshots in ${outdir}`);
process.exitCode = findings.length === 0 ? 0 : 1;

/** Opens a report in one view, looks at it, and takes a picture. */
async function visit(report, view, options, look, { whole = true } = {}) {
  const name = `${path.basename(report, ".html")}-${view}`;
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const find = (what) => findings.push(`${name}: ${what}`);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && find(`console: ${message.text()}`));
  page.on("pageerror", (error) => find(`script: ${error.message}`));
  page.on("requestfailed", (request) => find(`request failed: ${request.url()}`));
  page.on("request", (request) => /^(file|data):/.test(request.url()) || find(`asks the network: ${request.url()}`));
  await page.goto(pathToFileURL(path.resolve(report)).href);
  if (whole) await page.screenshot({ path: path.join(outdir, `${name}.png`), fullPage: true });
  await look(page, find, path.join(outdir, name));
  await context.close();
  seen += 1;
}

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
  await allParts(page, find, "without scripts");
  await figures(page, find, { openOnly: true });
  if (await page.locator(".controls").isVisible()) find("controls that do nothing are shown without scripts");
}
