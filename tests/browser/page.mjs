// The page as a whole: its width, its parts, its theme, its verdict.

/** The page never scrolls sideways; what is wide scrolls in its own frame. */
export async function noOverflow(page, find, when) {
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

/** Closed parts open with Enter: their summaries take the focus. */
export async function openByKeyboard(page, find, most) {
  const summaries = page.locator("main details:not(.numbers) > summary");
  const count = Math.min(await summaries.count(), most);
  for (let n = 0; n < count; n++) {
    const summary = summaries.nth(n);
    if (!(await summary.isVisible())) continue;
    const isOpen = () => summary.evaluate((element) => element.parentElement.open);
    const was = await isOpen();
    await summary.press("Enter");
    if ((await isOpen()) === was) find(`part ${n} does not ${was ? "close" : "open"} by keyboard`);
    if (was) await summary.press("Enter");
  }
}

/** The button opens what is closed and closes what is open; it leaves everything open. */
export async function openAllButton(page, find) {
  const button = page.locator("#toggle");
  const count = (selector) => page.locator(selector).count();
  const all = await count("details:not(.numbers)");
  if ((await count("details:not(.numbers):not([open])")) === 0) await button.click();
  else {
    await button.click();
    if ((await count("details:not(.numbers)[open]")) !== all) find("the button does not open all parts");
    await button.click();
  }
  if ((await count("details:not(.numbers):not([open])")) !== all) find("the button does not close all parts");
  await button.click();
  if ((await count("details:not(.numbers)[open]")) !== all) find("the button does not open all parts");
}

/** Every part that a page must have is there and has something in it. */
export async function allParts(page, find, when, parts) {
  for (const part of parts) {
    const text = await page.locator(part).innerText();
    if (text.length < 40) find(`${part} is missing or empty ${when}`);
  }
}

/** The verdict is seen wherever one reads, and says simulated where it is. */
export async function verdictStays(page, find) {
  const verdict = (await page.locator(".verdict .word").innerText()).trim();
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
  const bar = page.locator(".bar");
  const box = await bar.boundingBox();
  if (!box || box.y < 0 || box.y > 5) find("the bar with the verdict scrolls away");
  const text = await bar.innerText();
  if (!text.includes(verdict)) find(`the bar does not say ${verdict}`);
  if ((await page.locator(".verdict .simulated").count()) > 0 && !text.includes("SIMULATED")) find("the bar does not say simulated");
  await page.evaluate(() => scrollTo(0, 0));
}

/** The theme follows the reader's choice, and the system where there is none. */
export async function themes(page, find) {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.locator("#theme").selectOption("dark");
  if ((await ground()) === light) find("the dark theme changes nothing");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.locator("#theme").selectOption("light");
  if ((await ground()) !== light) find("the light theme does not stay light on a dark system");
  await page.emulateMedia({ colorScheme: "light" });
  await page.locator("#theme").selectOption("");
}
