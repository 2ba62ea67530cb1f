// On paper: everything open, light, without controls.
import { allParts } from "./page.mjs";

/** Looks at the page as it is printed from a dark system, and writes it as PDF. */
export async function onPaper(page, find, file, parts) {
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.waitForTimeout(100);
  const odd = await page.evaluate(() => {
    const odd = [];
    const seen = (element) => element.checkVisibility({ contentVisibilityAuto: true, opacityProperty: true });
    for (const part of document.querySelectorAll("details:not(.numbers)")) {
      const content = [...part.children].find((child) => child.tagName !== "SUMMARY");
      if (!content || !seen(content) || content.getBoundingClientRect().height === 0) odd.push(`closed on paper: ${part.querySelector("summary").textContent.trim()}`);
    }
    for (const control of document.querySelectorAll("button, select, nav, .tip, .choices label:not(:has(:checked)), .numbers:not([open]) > summary")) {
      if (seen(control)) odd.push(`a control is printed: ${control.outerHTML.slice(0, 60)}`);
    }
    for (const figure of document.querySelectorAll("figure")) {
      if (getComputedStyle(figure).breakInside !== "avoid") odd.push(`${figure.id} may be split over pages`);
    }
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
    const ink = getComputedStyle(document.body).color.match(/\d+/g).map(Number);
    if (r + g + b < 700 || ink[0] + ink[1] + ink[2] > 300) odd.push("paper is dark");
    return odd;
  });
  odd.forEach(find);
  await allParts(page, find, "on paper", parts);
  await page.screenshot({ path: `${file}.png`, fullPage: true });
  await page.pdf({ path: `${file}.pdf`, format: "A4", printBackground: true });
}
