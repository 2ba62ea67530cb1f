// The figures: seen, told in words, switched by their choices, and read value by value with pointer and keyboard.

/** Every figure shows one drawing, lies within the page, and says what it is to those who don't see it. */
export async function figures(page, find, { openOnly = false } = {}) {
  const odd = await page.evaluate((openOnly) => {
    const width = document.documentElement.clientWidth;
    const shown = [...document.querySelectorAll("figure")].filter((figure) => !openOnly || figure.checkVisibility());
    if (shown.length === 0) return ["no figure"];
    return shown.flatMap((figure) => {
      const say = (what) => `${figure.id} ${what}`;
      const box = figure.getBoundingClientRect();
      if (!figure.checkVisibility()) return [say("is not visible")];
      if (box.width < 200 || box.height < 100) return [say("has no size")];
      if (box.left < 0 || box.right > width + 1) return [say("reaches out of the page")];
      const plots = [...figure.querySelectorAll(".plot")].filter((plot) => plot.checkVisibility());
      if (plots.length !== 1) return [say(`shows ${plots.length} drawings`)];
      const svg = plots[0].querySelector("svg");
      const drawn = svg.getBBox();
      if (drawn.width < 100 || drawn.height < 50) return [say("is empty")];
      const sheet = svg.getBoundingClientRect();
      const beyond = [...svg.querySelectorAll("text")].find((text) => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        // The box of a text is higher than its letters.
        return left < sheet.left - 5 || right > sheet.right + 5 || top < sheet.top - 5 || bottom > sheet.bottom + 5;
      });
      if (beyond) return [say(`cuts off the text "${beyond.textContent}"`)];
      const named = (attribute) => svg.getAttribute(attribute)?.split(" ").map((id) => document.getElementById(id)?.textContent).join("");
      if (!named("aria-labelledby") || !named("aria-describedby")) return [say("has no title or description")];
      return figure.querySelectorAll(".numbers tbody tr").length === 0 ? [say("has no numbers")] : [];
    });
  }, openOnly);
  odd.forEach(find);
}

/** What is simulated says so at the top, in every drawing and under it. */
export async function labels(page, find) {
  if ((await page.locator(".banner").count()) === 0) return;
  const silent = await page.evaluate(() =>
    [...document.querySelectorAll("figure")].flatMap((figure) => {
      const drawn = [...figure.querySelectorAll("svg")].every((svg) => svg.textContent.includes("simulated: "));
      const told = figure.querySelector("figcaption .simulated");
      return drawn && told?.checkVisibility() ? [] : [figure.id];
    }),
  );
  silent.forEach((id) => find(`${id} does not say simulated in drawing and caption`));
}

/** Every option of every choice shows a drawing of its own; the first figure with a choice is switched by mouse and keyboard. */
export async function choices(page, find) {
  const odd = await page.evaluate(() => {
    const shown = (figure) => [...figure.querySelectorAll(".plot")].filter((plot) => plot.checkVisibility());
    return [...document.querySelectorAll("figure")].flatMap((figure) => {
      const seen = new Set();
      const groups = [...figure.querySelectorAll("fieldset")].map((group) => [...group.querySelectorAll("input")]);
      for (const first of groups[0] ?? []) {
        first.click();
        for (const second of groups[1] ?? [first]) {
          second.click();
          const now = shown(figure);
          if (now.length !== 1) return [`${figure.id} shows ${now.length} drawings under ${first.className} ${second.className}`];
          seen.add(now[0].querySelector("svg").innerHTML);
        }
      }
      groups.forEach((group) => group[0].click());
      const all = figure.querySelectorAll(".plot").length;
      return groups.length > 0 && seen.size !== all ? [`${figure.id} shows ${seen.size} of ${all} drawings`] : [];
    });
  });
  odd.forEach(find);
  const figure = page.locator("figure:visible", { has: page.locator(".choices") }).first();
  if ((await figure.count()) === 0) return;
  const drawing = () => figure.locator(".plot:visible svg").innerHTML();
  const options = figure.locator("fieldset").first().locator("label");
  const first = await drawing();
  await options.nth(1).click();
  const second = await drawing();
  if (second === first) find("a click on an option changes nothing");
  await options.nth(1).locator("input").press("ArrowLeft");
  if ((await drawing()) !== first) find("the arrow keys do not go back to the first option");
}

/** Under the pointer, and at the keyboard, a drawing says the value that its table has; Escape puts it away. */
export async function values(page, find) {
  const tip = page.locator("#tip");
  const plots = page.locator(".plot:visible");
  for (let n = 0; n < Math.min(await plots.count(), 12); n++) {
    const plot = plots.nth(n);
    const label = await plot.getAttribute("aria-label");
    await plot.scrollIntoViewIfNeeded();
    await plot.focus();
    await page.keyboard.press("End");
    const spots = (await plot.getAttribute("data-spots")).split(",").map((spot) => spot.split(" ").map(Number));
    const [x, y, row, column] = spots[spots.length - 1];
    const cell = await plot.evaluate(
      (plot, [row, column]) => plot.closest("figure").querySelector(".numbers tbody").rows[row].cells[column + 1].textContent,
      [row, column],
    );
    await page.waitForFunction(() => document.getElementById("said").textContent !== "", undefined, { timeout: 2000 }).catch(() => {});
    if (!(await tip.isVisible())) find(`${label}: no value at the keyboard`);
    else if (!(await tip.innerText()).startsWith(cell)) find(`${label}: says ${await tip.innerText()} at the keyboard, not ${cell}`);
    if (!(await page.locator("#said").textContent()).includes(cell)) find(`${label}: a screen reader is not told ${cell}`);
    const box = await tip.boundingBox();
    if (box && (box.x < 0 || box.x + box.width > page.viewportSize().width + 1)) find(`${label}: the value reaches out of the page`);
    await page.keyboard.press("Escape");
    if (await tip.isVisible()) find(`${label}: Escape does not put the value away`);
    await plot.locator("svg").scrollIntoViewIfNeeded();
    const at = await plot.locator("svg").evaluate((svg, [x, y]) => {
      const box = svg.getBoundingClientRect();
      const unit = box.width / svg.viewBox.baseVal.width;
      const top = box.top + y * unit;
      scrollBy(0, top - innerHeight / 2);
      return { x: box.left + x * unit, y: svg.getBoundingClientRect().top + y * unit };
    }, [x, y]);
    await page.mouse.move(at.x - 3, at.y - 3);
    await page.mouse.move(at.x, at.y);
    if (!(await tip.isVisible())) find(`${label}: no value under the pointer`);
    else if (!/\d/.test(await tip.innerText())) find(`${label}: under the pointer stands no number`);
    await page.mouse.move(1, 1);
  }
}
