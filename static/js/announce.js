/* After htmx swaps in a part of a page: announce its data-announce, if changed, to screen readers once. If the part has
   data-reload, reload the page, because the rest of it has also changed. */

const NAVIGATION_MS = 5000;
let last = document.querySelector("[data-announce]")?.dataset.announce ?? "";

/* Reloading right after a click on a link would cancel the navigation. */
let leftAt = -Infinity;
if (document.querySelector("[data-announce]")) {
  window.addEventListener("beforeunload", () => {
    leftAt = Date.now();
  });
}

function reload() {
  if (Date.now() - leftAt < NAVIGATION_MS) setTimeout(reload, NAVIGATION_MS);
  else location.reload();
}

document.addEventListener("htmx:afterSettle", ({ target }) => {
  if (document.querySelector("[data-reload]")) {
    reload();
    return;
  }
  const part = target.closest("[data-announce]") ?? document.querySelector("[data-announce]");
  const text = part?.dataset.announce ?? "";
  if (text === "" || text === last) return;
  last = text;
  const region = document.querySelector("#announcer");
  if (region) region.textContent = text;
});
