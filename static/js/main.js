/* Entry point of all pages. Modules enhance pages that work without scripts. */

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

/* Submit a form with data-autosubmit when a choice changes. */
for (const form of document.querySelectorAll("form[data-autosubmit]")) {
  form.addEventListener("change", (event) => {
    if (event.target.matches("select, input[type=checkbox], input[type=radio]")) form.requestSubmit();
  });
}

/* Give boxes that scroll a tab stop. Mark a table that is wider than its box (data-goes-on: right, or left in right-to-left text)
   until its last column is visible. */
const goesOn = (box) => {
  const scrolled = Math.abs(box.scrollLeft); // negative in right-to-left tables
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
