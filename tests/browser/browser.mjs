// A browser that opens pages from disk in one view after the other, takes pictures, and collects what is wrong with them. Anything
// on the console, and any request of the network, is wrong.
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const DESK = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** Looks at the pages that the command line names; `views` is called with each and with what opens it in a view. */
export async function lookAt(what, views) {
  const [outdir, ...files] = process.argv.slice(2);
  if (!outdir || files.length === 0) {
    console.error(`usage: node ${path.basename(process.argv[1])} OUTDIR PAGE.html..`);
    process.exit(2);
  }
  const findings = [];
  let seen = 0;
  await mkdir(outdir, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });

  /** Opens a page in one view, looks at it, and takes a picture. */
  async function visit(file, view, options, look, { whole = true } = {}) {
    const name = `${path.basename(file, ".html")}-${view}`;
    const context = await browser.newContext({ reducedMotion: "reduce", ...options });
    const page = await context.newPage();
    const find = (what) => findings.push(`${name}: ${what}`);
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && find(`console: ${message.text()}`));
    page.on("pageerror", (error) => find(`script: ${error.message}`));
    page.on("requestfailed", (request) => find(`request failed: ${request.url()}`));
    page.on("request", (request) => /^(file|data):/.test(request.url()) || find(`asks the network: ${request.url()}`));
    await page.goto(pathToFileURL(path.resolve(file)).href);
    if (whole) await page.screenshot({ path: path.join(outdir, `${name}.png`), fullPage: true });
    await look(page, find, path.join(outdir, name));
    await context.close();
    seen += 1;
  }

  try {
    for (const file of files) await views(file, (...view) => visit(file, ...view));
  } finally {
    await browser.close();
  }
  for (const finding of findings) console.error(`FINDING ${finding}`);
  console.log(`${files.length} ${what}, ${seen} views, ${findings.length} findings, screenshots in ${outdir}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
