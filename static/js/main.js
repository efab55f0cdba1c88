/* The site's one entry point. Every module enhances what the server already rendered. */

import "./theme.js";
import "./sortable.js";
import "./copy.js";
import "./upload.js";
import "./kinds.js";
import "./announce.js";
import "./menu.js";
import "./heatmap.js";
import "./figure.js";
import "./folder.js";
import "./ticks.js";
import "./filter.js";
import "./unsaved.js";
import "./sent-by-htmx.js";
import "./signing-out.js";

/* A form with data-autosubmit sends itself when a choice changes; its button stays for everybody else. */
for (const form of document.querySelectorAll("form[data-autosubmit]")) {
  form.addEventListener("change", (event) => {
    if (event.target.matches("select, input[type=checkbox], input[type=radio]")) form.requestSubmit();
  });
}

/* Scrolling boxes must be reachable by keyboard, but only when there is something to scroll. Where a table goes on to
   the right (one that begins at the right: to the left), its box says so (data-goes-on) until its last column is in sight. */
const goesOn = (box) => {
  const scrolled = Math.abs(box.scrollLeft); // negative where the table begins at the right
  if (scrolled + box.clientWidth < box.scrollWidth - 1) box.dataset.goesOn = box.dir === "rtl" ? "left" : "right";
  else delete box.dataset.goesOn;
};
const watch = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const target = /** @type {HTMLElement} */ (entry.target);
    const scrolls = target.scrollWidth > target.clientWidth + 1 || target.scrollHeight > target.clientHeight + 1;
    if (scrolls) target.tabIndex = 0;
    else if (!target.closest("[data-figure]")) target.removeAttribute("tabindex");
    if (target.matches(".table-box")) goesOn(target);
  }
});
document.addEventListener(
  "scroll",
  ({ target }) => {
    if (target instanceof Element && target.matches(".table-box")) goesOn(target);
  },
  { capture: true, passive: true },
);
const observe = (root) => {
  for (const box of root.querySelectorAll(".table-box, .chart-box")) watch.observe(box);
};
observe(document);
document.addEventListener("htmx:afterSettle", (event) => observe(event.target));
