/* Parts swapped in by htmx: announce a changed data-announce to screen readers, once, and reload the page for data-reload, which
   the last part of its kind has because the rest of the page has changed, too. */

const NAVIGATION_MS = 5000;
let last = document.querySelector("[data-announce]")?.dataset.announce ?? "";

/* Reloading just after a link was pressed would cancel the navigation. */
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

document.addEventListener("htmx:afterSettle", () => {
  if (document.querySelector("[data-reload]")) {
    reload();
    return;
  }
  const text = document.querySelector("[data-announce]")?.dataset.announce ?? "";
  if (text === "" || text === last) return;
  last = text;
  const region = document.querySelector("#announcer");
  if (region) region.textContent = text;
});
