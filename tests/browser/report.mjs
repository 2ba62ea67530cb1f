// Opens a report from disk at the width of a desk and of a phone, in light and in dark, and fails on anything a reader
// would stumble over. Needs no network and proves that the report needs none either.
//
//   node report.mjs REPORT.html OUTDIR
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [report, outdir] = process.argv.slice(2);
if (!report || !outdir) {
  console.error("usage: node report.mjs REPORT.html OUTDIR");
  process.exit(2);
}
const VIEWS = [
  { name: "1280-light", width: 1280, height: 900, colorScheme: "light" },
  { name: "1280-dark", width: 1280, height: 900, colorScheme: "dark" },
  { name: "390-light", width: 390, height: 844, colorScheme: "light" },
];

const findings = [];
await mkdir(outdir, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});
try {
  for (const view of VIEWS) await visit(view);
} finally {
  await browser.close();
}
for (const finding of findings) console.error(`FINDING ${finding}`);
console.log(`${report}: ${VIEWS.length} views, ${findings.length} findings, screenshots in ${outdir}`);
process.exitCode = findings.length === 0 ? 0 : 1;

async function visit({ name, width, height, colorScheme }) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  const find = (what) => findings.push(`${name}: ${what}`);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && find(`console: ${message.text()}`));
  page.on("pageerror", (error) => find(`script: ${error.message}`));
  page.on("requestfailed", (request) => find(`request failed: ${request.url()}`));
  page.on("request", (request) => /^(file|data):/.test(request.url()) || find(`asks the network: ${request.url()}`));

  await page.goto(pathToFileURL(path.resolve(report)).href);
  await noOverflow(page, find, "as opened");
  await page.screenshot({ path: path.join(outdir, `${name}.png`), fullPage: true });
  await openByKeyboard(page, find);
  await noOverflow(page, find, "with all parts open");
  await figures(page, find);
  await labels(page, find);
  await openAllButton(page, find);
  await page.screenshot({ path: path.join(outdir, `${name}-open.png`), fullPage: true });
  await context.close();
}

/** The page never scrolls sideways; what is wide scrolls in its own frame. */
async function noOverflow(page, find, when) {
  const wide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const inFrame = (element) => element.parentElement?.closest(".scroll");
    return [...document.body.querySelectorAll("*")]
      .filter((element) => element.getBoundingClientRect().right > width + 1 && !inFrame(element))
      .map((element) => `${element.tagName.toLowerCase()}.${element.className}`)
      .concat("page");
  });
  if (wide.length > 0) find(`wider than the page ${when}: ${wide.slice(0, 5).join(", ")}`);
}

/** Every closed part opens with Enter, and every part can be reached by Tab order (its summary takes the focus). */
async function openByKeyboard(page, find) {
  const summaries = page.locator("details > summary");
  for (let n = 0; n < (await summaries.count()); n++) {
    const summary = summaries.nth(n);
    const isOpen = () => summary.evaluate((element) => element.parentElement.open);
    if (await isOpen()) {
      await summary.press("Enter");
      if (await isOpen()) find(`part ${n} does not close by keyboard`);
    }
    await summary.press("Enter");
    if (!(await isOpen())) find(`part ${n} does not open by keyboard`);
  }
}

/** Every figure is seen, lies within the page, and says what it is to those who don't see it. */
async function figures(page, find) {
  const all = page.locator("figure");
  const count = await all.count();
  if (count === 0) find("no figure");
  const width = page.viewportSize().width;
  for (let n = 0; n < count; n++) {
    const figure = all.nth(n);
    const id = await figure.getAttribute("id");
    if (!(await figure.isVisible())) find(`${id} is not visible`);
    const box = await figure.boundingBox();
    if (!box || box.width < 200 || box.height < 100) find(`${id} has no size`);
    else if (box.x < 0 || box.x + box.width > width + 1) find(`${id} reaches out of the page`);
    const drawing = await figure.locator("svg").evaluate((svg) => {
      const { width, height } = svg.getBBox();
      return { width, height, title: svg.querySelector("title")?.textContent, desc: svg.querySelector("desc")?.textContent };
    });
    if (drawing.width < 100 || drawing.height < 50) find(`${id} is empty`);
    if (!drawing.title || !drawing.desc) find(`${id} has no title or description`);
  }
}

/** What is simulated says so at the top, in every drawing and under it. */
async function labels(page, find) {
  if ((await page.locator(".banner").count()) === 0) return;
  for (const figure of await page.locator("figure").all()) {
    const id = await figure.getAttribute("id");
    const drawn = await figure.locator("svg text").allTextContents();
    if (!drawn.some((text) => text.includes("simulated: "))) find(`${id} does not say simulated in the drawing`);
    if (!(await figure.locator("figcaption .simulated").isVisible())) find(`${id} does not say simulated in its caption`);
  }
}

/** The button closes what is open and opens what is closed. */
async function openAllButton(page, find) {
  const button = page.locator("#toggle");
  const closed = () => page.locator("details:not([open])").count();
  await button.click();
  if ((await closed()) !== (await page.locator("details").count())) find("the button does not close all parts");
  await button.click();
  if ((await closed()) !== 0) find("the button does not open all parts");
}
