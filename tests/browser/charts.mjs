// The charts of a dashboard: drawn, chosen by name and state, put in order, and read night by night.

/** Every series has a chart with a line in it and a name for those who don't see it. */
export async function charts(page, find) {
  const odd = await page.evaluate(() =>
    [...document.querySelectorAll(".card")].flatMap((card) => {
      const say = (what) => `${card.id} ${what}`;
      const box = card.querySelector("svg").getBoundingClientRect();
      if (box.width < 100 || box.height < 40) return [say("has no chart")];
      const line = card.querySelector("svg .v");
      if (line && line.getBBox().width === 0 && !line.getAttribute("d").includes("h0")) return [say("has an empty line")];
      if (!card.querySelector(".chart").getAttribute("aria-label")) return [say("has no name")];
      return [];
    }),
  );
  odd.forEach(find);
  const unseen = await page.evaluate(() => [...document.querySelectorAll(".finding svg use")].filter((use) => use.getBBox().width === 0).length);
  if (unseen > 0) find(`${unseen} findings show no chart`);
}

/** At the keyboard and under the pointer a chart says what its table says; Escape puts it away. */
export async function nights(page, find) {
  const tip = page.locator("#tip");
  for (const card of (await page.locator(".card").all()).slice(0, 6)) {
    const name = await card.getAttribute("id");
    await card.locator(".numbers > summary").click();
    const last = card.locator(".numbers tbody tr").first();
    const [night, median] = [await last.locator("th").innerText(), await last.locator("td").nth(1).innerText()];
    const said = median === "none" ? "no value" : median;
    const chart = card.locator(".chart");
    await chart.scrollIntoViewIfNeeded();
    await chart.focus();
    await page.keyboard.press("End");
    const shown = await tip.innerText();
    if (!shown.startsWith(said) || !shown.includes(`Night ${night} `)) find(`${name}: says "${shown}" at the keyboard, its table ${said} in night ${night}`);
    if (!(await page.locator("#said").textContent()).includes(said)) find(`${name}: a screen reader is not told ${said}`);
    await page.keyboard.press("Escape");
    if (await tip.isVisible()) find(`${name}: Escape does not put the value away`);
    const box = await chart.locator("svg").boundingBox();
    await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2);
    if (!(await tip.isVisible())) find(`${name}: no value under the pointer`);
    await page.mouse.move(1, 1);
    await card.locator(".numbers > summary").click();
  }
}

/** The table under a chart has every night once it is opened. */
export async function allNights(page, find) {
  const card = page.locator(".card").first();
  const nights = await card.locator(".chart").evaluate((chart) => chart.dataset.median.split(" ").length);
  await card.locator(".numbers > summary").click();
  const rows = await card.locator(".numbers tbody tr").count();
  if (rows !== nights) find(`the table has ${rows} of ${nights} nights`);
  await card.locator(".numbers > summary").click();
}

/** Words and states choose series; groups without one go; the order changes. */
export async function chosen(page, find) {
  const visible = () => page.locator(".card:visible").count();
  const all = await visible();
  const name = await page.locator(".card").last().getAttribute("data-name");
  await page.locator("#filter").fill(name.split("/").join(" "));
  const left = await visible();
  if (left < 1 || left >= all) find(`the words of ${name} leave ${left} of ${all} series`);
  if ((await page.locator(".group:visible").count()) !== 1) find("groups without a series stay");
  if (!(await page.locator("#shown").innerText()).startsWith(`${left} of ${all}`)) find("the number of series is not told");
  await page.locator("#filter").fill("");
  const state = await page.locator(".card").first().getAttribute("data-state");
  await page.locator("#state").selectOption(state);
  const others = await page.locator(`.card:visible:not([data-state="${state}"])`).count();
  if (others > 0) find(`${others} series of other states are shown with ${state}`);
  await page.locator("#state").selectOption("");
  if ((await visible()) !== all) find("not all series come back");
  await page.locator("#sort").selectOption("name");
  const names = await page.locator(".group").first().locator(".card").evaluateAll((cards) => cards.map((card) => card.dataset.name));
  if (names.some((one, n) => n > 0 && names[n - 1].localeCompare(one) > 0)) find("sorting by name is no order");
  await page.locator("#sort").selectOption("rank");
}

/** A finding leads to its series, which is then large. */
export async function leads(page, find) {
  const look = page.locator(".finding .look").first();
  if ((await look.count()) === 0) return;
  const card = page.locator(await look.getAttribute("href"));
  const before = (await card.locator("svg").boundingBox()).height;
  await look.click();
  const after = (await card.locator("svg").boundingBox()).height;
  if (!(after > before * 2)) find("the series of a finding is not shown large");
}

/** How long the page took to be there, in ms. The bound is generous: the machine may be busy. */
export async function speed(page, find) {
  const took = await page.evaluate(() => {
    const { domContentLoadedEventEnd, loadEventEnd } = performance.getEntriesByType("navigation")[0];
    const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    return { content: domContentLoadedEventEnd, load: loadEventEnd, paint };
  });
  const said = Object.entries(took).map(([what, ms]) => `${what} ${Math.round(ms)} ms`).join(", ");
  console.log(`${await page.title()}: ${said}`);
  if (took.load > 10_000) find(`took long to open: ${said}`);
}
