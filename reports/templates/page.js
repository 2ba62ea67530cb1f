"use strict";
// Nothing on a page needs its script: this part adds a theme and one button for all parts.
const parts = [...document.querySelectorAll("details:not(.numbers)")];
const toggle = document.getElementById("toggle");
const theme = document.getElementById("theme");
const someClosed = () => parts.some((part) => !part.open);
const name = () => { toggle.textContent = someClosed() ? "Open all" : "Close all"; };
document.querySelector(".controls").hidden = false;
toggle.hidden = parts.length === 0;
toggle.addEventListener("click", () => {
  const open = someClosed();
  parts.forEach((part) => { part.open = open; });
});
parts.forEach((part) => part.addEventListener("toggle", name));
name();
theme.addEventListener("change", () => { document.documentElement.dataset.theme = theme.value; });

// Paper has nothing to click on.
let before = [];
addEventListener("beforeprint", () => {
  before = parts.filter((part) => !part.open);
  before.forEach((part) => { part.open = true; });
});
addEventListener("afterprint", () => before.forEach((part) => { part.open = false; }));
