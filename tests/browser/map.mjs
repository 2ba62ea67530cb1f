// The map of all pairs: drawn, in colours that everyone tells apart, put in order, brought closer, and read cell by cell.

/** The map is there soon. How long that took is told; the bound is generous: the machine may be busy. */
export async function drawn(page, find) {
  const ready = page.waitForFunction(() => document.body.dataset.drawn, null, { timeout: 60_000 });
  if (!(await ready.catch(() => false))) return find("the map is never drawn");
  const { ms, nodes } = await page.evaluate(() => ({ ms: Number(document.body.dataset.drawn), nodes: count }));
  console.log(`${await page.title()}: ${nodes} nodes, drawn after ${ms} ms`);
  if (!(ms < 10_000)) find(`took ${ms} ms to draw`);
}

/** The colours of a canvas, by way of another one: a canvas that is read is not drawn by the same means. */
const read = (page, selector, box) => page.evaluate(([selector, [x, y, width, height]]) => {
  const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  [copy.canvas.width, copy.canvas.height] = [width, height];
  copy.drawImage(document.querySelector(selector), -x, -y);
  return [...copy.getImageData(0, 0, width, height).data];
}, [selector, box]);

/** The colour in a cell, as it is seen, beside what marks its middle or its edge. */
async function seen(page, pair) {
  const at = await page.evaluate((pair) => {
    const { x, y } = boxOf(pair);
    return [x, y].map((edge) => Math.round(edge + view.cell / 4));
  }, pair);
  return (await read(page, "#canvas", [...at, 1, 1])).join();
}

/** A text as it is shown: ends of lines are spaces. */
const oneLine = (text) => text.replaceAll(/\s+/g, " ");

/** The middle of a cell on the page. */
const middle = (page, pair) => page.evaluate((pair) => {
  const { x, y } = boxOf(pair);
  const box = canvas.getBoundingClientRect();
  return { x: box.left + (x + view.cell / 2) / frame.ratio, y: box.top + (y + view.cell / 2) / frame.ratio };
}, pair);

/** The first pair that is in a state, none where there is none. */
const pairThat = (page, state) => page.evaluate((state) => {
  const at = states.findIndex((is, cell) => is === state && Math.floor(cell / count) !== cell % count);
  return at < 0 ? undefined : { row: Math.floor(at / count), column: at % count };
}, state);

/** From best to worst, lightness goes one way in even steps; deviations are as light on both sides. What gave no number has none of these colours. */
export async function colours(page, find, { light } = {}) {
  for (const shown of ["value", "residual"]) {
    if (!light) await page.locator("#shown").selectOption(shown);
    const data = await read(page, "#ramp", [0, 0, 256, 1]);
    const is = await page.evaluate((data) => {
      const linear = (byte) => (byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
      const lightness = (n) => {
        const [r, g, b] = [0, 1, 2].map((part) => linear(data[4 * n + part]));
        const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
        const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
        const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
        return 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s;
      };
      return { dark: isDark(), all: Array.from({ length: 256 }, (_, n) => lightness(n)) };
    }, data);
    const residual = !light && shown === "residual";
    const side = residual ? is.all.slice(128) : is.all;
    const steps = Array.from({ length: Math.floor(side.length / 16) - 1 }, (_, n) => side[16 * n + 16] - side[16 * n]);
    const [least, most] = [Math.min(...steps), Math.max(...steps)];
    const oneWay = is.dark ? least > 0 : most < 0;
    if (!oneWay) find(`the colours of ${shown}s do not go one way in lightness`);
    if (Math.max(Math.abs(least), Math.abs(most)) > 1.6 * Math.min(Math.abs(least), Math.abs(most))) find(`the colours of ${shown}s go in uneven steps: ${least.toFixed(3)} to ${most.toFixed(3)}`);
    if (residual && is.all.some((lightness, n) => Math.abs(lightness - is.all[255 - n]) > 0.03)) find("better and worse differ in lightness");
    if (light && is.dark) find("the map is dark on paper");
  }
  if (light) return;
  await page.locator("#shown").selectOption("value");
  const failed = await pairThat(page, 2);
  if (!failed) return;
  const grey = (await seen(page, failed)).split(",").map(Number);
  if (Math.max(...grey.slice(0, 3)) - Math.min(...grey.slice(0, 3)) > 40) find(`what could not run has the colour ${grey}`);
}

/** The measure and what is shown of it change the map, its legend and the table of nodes. */
export async function toggles(page, find) {
  const pair = await pairThat(page, 0);
  const state = async () => ({ cell: await seen(page, pair), legend: await page.locator(".legend").innerText(), nodes: await page.locator("#nodes-measure").innerText() });
  const first = await state();
  await page.locator("#shown").selectOption("residual");
  const second = await state();
  if (second.cell === first.cell) find("deviations have the colours of values");
  if (second.legend === first.legend || !second.legend.includes("%")) find(`the legend of deviations says ${second.legend}`);
  await page.locator("#shown").selectOption("value");
  const measures = await page.locator("#measure option").count();
  const now = await page.locator("#measure").inputValue();
  if (measures > 1) {
    await page.locator("#measure").selectOption(String((Number(now) + 1) % measures));
    const other = await state();
    if (other.nodes === first.nodes || other.legend === first.legend) find("another measure changes neither legend nor nodes");
    await page.locator("#measure").selectOption(now);
  }
  await page.locator("#scale").selectOption("middle");
  if (!(await page.locator(".legend").innerText()).includes("≤")) find("the legend does not say that colours end before the numbers do");
  await page.locator("#scale").selectOption("all");
  const last = await state();
  if (JSON.stringify(last) !== JSON.stringify(first)) find("going back does not lead back");
}

/** Every order is one: all nodes once, by what it says. */
export async function ordered(page, find) {
  const pair = await pairThat(page, 0);
  const colour = await seen(page, pair);
  for (const order of await page.locator("#order option").evaluateAll((options) => options.map((option) => option.value))) {
    await page.locator("#order").selectOption(order);
    const odd = await page.evaluate((order) => {
      if (new Set(view.order).size !== count) return "not every node once";
      const measure = known.measures[view.measure];
      const key = {
        rank: (rank) => rank,
        sends: (rank) => -worseBy(measure, measure.nodes[rank][1] ?? (measure.higher_is_better ? Infinity : -Infinity)),
        receives: (rank) => -worseBy(measure, measure.nodes[rank][3] ?? (measure.higher_is_better ? Infinity : -Infinity)),
      }[order];
      const text = { name: (rank) => known.nodes[rank].name, leaf: (rank) => known.nodes[rank].leaf }[order];
      const falls = view.order.some((rank, n) => {
        if (n === 0) return false;
        const before = view.order[n - 1];
        return key ? key(before) > key(rank) : natural.compare(text(before), text(rank)) > 0;
      });
      return falls ? "not in order" : "";
    }, order);
    if (odd) find(`sorted by ${order}: ${odd}`);
    if ((await seen(page, pair)) !== colour) find(`sorted by ${order}: a pair has another colour`);
  }
  await page.locator("#order").selectOption("rank");
}

/** Under the pointer a cell says its pair and its value. */
export async function hovered(page, find) {
  await page.locator("#map").scrollIntoViewIfNeeded();
  for (const state of [0, 1, 2]) {
    const pair = await pairThat(page, state);
    if (!pair) continue;
    const { x, y } = await middle(page, pair);
    await page.mouse.move(x, y);
    const [said, wanted] = [await page.locator("#tip").innerText(), await page.evaluate((pair) => nameOf(pair), pair)].map(oneLine);
    if (!said.includes(wanted)) find(`over ${wanted} it says ${said}`);
    if (!said.includes([/\d/.exec(said)?.[0] ?? "a number", "not usable", "could not run"][state])) find(`over ${wanted} it does not say how it came out: ${said}`);
  }
  await page.mouse.move(2, 2);
  if (await page.locator("#tip").isVisible()) find("what was said stays when the pointer has left");
}

/** A click tells a pair's runs, and the row's table agrees. */
export async function chosenByPointer(page, find) {
  const pair = await pairThat(page, 0);
  await page.locator("#map").scrollIntoViewIfNeeded();
  const { x, y } = await middle(page, pair);
  await page.mouse.click(x, y);
  const name = oneLine(await page.evaluate((pair) => nameOf(pair), pair));
  if ((await page.locator("#pair h3").innerText()) !== name) find(`a click on ${name} chooses another pair`);
  const runs = await page.locator("#pair li").allInnerTexts();
  if (runs.length === 0 || !runs.every((run) => /^run \d+, /.test(run))) find(`${name} has no runs: ${runs}`);
  if (!(await page.locator("#pair").innerText()).includes("rdma-harness cluster show")) find("no command leads to the runs");
  const value = await page.locator("#pair .value").innerText();
  await page.locator("#row > summary").click();
  const responder = name.split(" → ").at(-1);
  const row = page.locator("#row tbody tr").filter({ has: page.locator("th", { hasText: new RegExp(`^${responder.replaceAll(/[^\w]/g, "\\$&")}$`) }) });
  if ((await row.locator("td").first().innerText()) !== value) find(`the table of the row does not have ${value} for ${name}`);
  await page.locator("#row > summary").click();
}

/** At the keyboard every cell is reached and said. */
export async function chosenByKeyboard(page, find) {
  await page.locator("#map").focus();
  const said = async () => oneLine(await page.locator("#said").textContent());
  const name = () => page.locator("#pair h3").innerText();
  const pressed = async (key) => { await page.keyboard.press(key); return name(); };
  await pressed("Home");
  const first = await name();
  const second = await pressed("ArrowRight");
  if (second === first) find("the arrow does not move on");
  if (!(await said()).startsWith(second)) find(`a screen reader is told ${await said()}, the pair is ${second}`);
  if ((await pressed("ArrowLeft")) !== first) find("the arrow back does not lead back");
  const below = await pressed("ArrowDown");
  if (below.split(" → ")[0] === first.split(" → ")[0]) find("the arrow down stays in its row");
  const last = await page.evaluate(() => known.nodes[view.order[count - 1]].name);
  if (!(await pressed("End")).endsWith(` → ${last}`)) find("End does not lead to the last responder");
  await page.keyboard.press("Enter");
  if ((await said()).length < 40) find("Enter does not tell the runs");
}

/** Buttons, keys and the wheel bring it closer; the wheel is the page's where the map was not asked for; a drag moves it. */
export async function zoomed(page, find) {
  const map = page.locator("#map");
  const cell = () => page.evaluate(() => view.cell);
  const thin = await page.evaluate(() => fitting());
  if (thin < 1) find("cells are thinner than a pixel");
  await page.locator("#in").click();
  const near = await cell();
  if (!(near > thin)) find("the button does not bring it closer");
  await page.locator("#fit").click();
  if (Math.abs((await cell()) - thin) > 1e-6) find("the button does not show it all");
  await map.scrollIntoViewIfNeeded();
  await page.evaluate(() => document.activeElement.blur());
  const box = await page.locator("#canvas").boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.6);
  await page.mouse.wheel(0, -60);
  await page.waitForTimeout(50);
  if (Math.abs((await cell()) - thin) > 1e-6) find("the wheel does not move the page, though nobody asked for the map");
  await map.focus();
  await map.scrollIntoViewIfNeeded();
  const again = await page.locator("#canvas").boundingBox();
  await page.mouse.move(again.x + again.width * 0.6, again.y + again.height * 0.6);
  await page.mouse.wheel(0, -600);
  await page.waitForFunction((thin) => view.cell > thin, thin, { timeout: 2_000 }).catch(() => find("the wheel does not bring it closer"));
  const before = await page.evaluate(() => [view.x, view.y]);
  await page.mouse.down();
  await page.mouse.move(again.x + again.width * 0.5, again.y + again.height * 0.5, { steps: 4 });
  await page.mouse.up();
  const after = await page.evaluate(() => [view.x, view.y]);
  if (!(after[0] > before[0] && after[1] > before[1])) find(`a drag does not move it: ${before} to ${after}`);
  await page.keyboard.press("0");
  if (Math.abs((await cell()) - thin) > 1e-6) find("0 does not show it all");
}

/** The table of nodes goes in the order of any column, and the other way round. */
export async function sortedNodes(page, find) {
  const head = page.locator('#node-table th[data-key="0"]');
  const values = () => page.locator("#node-table tbody tr").evaluateAll((rows) => {
    const measure = known.measures[view.measure];
    return rows.map((row) => measure.nodes[Number(row.dataset.rank)][0]).filter((value) => value !== null);
  });
  for (const [way, sign] of [["ascending", 1], ["descending", -1]]) {
    await head.locator("button").click();
    if ((await head.getAttribute("aria-sort")) !== way) find(`the column does not say that it is ${way}`);
    const all = await values();
    if (all.some((value, n) => n > 0 && sign * (value - all[n - 1]) < 0)) find(`nodes are not ${way}`);
  }
}

/** A finding leads to its place on the map. */
export async function findingsLead(page, find) {
  const show = page.locator(".show").first();
  if ((await show.count()) === 0) return;
  const finding = show.locator("xpath=ancestor::li");
  const node = await finding.locator(".where a").first().innerText();
  await show.click();
  if (!(await page.locator("#pair h3").innerText()).includes(node)) find(`the finding of ${node} leads elsewhere`);
  if (!(await page.locator("#canvas").evaluate((canvas) => canvas.getBoundingClientRect().top < innerHeight))) find("the map is not in sight");
  if (!(await page.locator("#map").evaluate((map) => map === document.activeElement))) find("the map has not the focus");
}
