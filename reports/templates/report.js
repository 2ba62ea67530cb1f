"use strict";
const all = [...document.querySelectorAll("details")];
const toggle = document.getElementById("toggle");
const someClosed = () => all.some((part) => !part.open);
const name = () => { toggle.textContent = someClosed() ? "Open all" : "Close all"; };
toggle.hidden = all.length === 0;
toggle.addEventListener("click", () => {
  const open = someClosed();
  all.forEach((part) => { part.open = open; });
});
all.forEach((part) => part.addEventListener("toggle", name));
name();
// Paper has nothing to click on.
let before = [];
addEventListener("beforeprint", () => {
  before = all.filter((part) => !part.open);
  before.forEach((part) => { part.open = true; });
});
addEventListener("afterprint", () => before.forEach((part) => { part.open = false; }));
