/* Live parts carry data-announce: when its text changes after a swap, screen readers hear the new one, once.
   A swapped part with data-reload is the last one of its kind: the rest of the page has news too. */

const LEAVING = 5000; // milliseconds
let last = document.querySelector("[data-announce]")?.dataset.announce ?? "";

/* Somebody who has just pressed a link is on the way to another page, or a download: reloading would bring them back. */
let left = -Infinity;
if (document.querySelector("[data-announce]")) {
  window.addEventListener("beforeunload", () => {
    left = Date.now();
  });
}

function reload() {
  if (Date.now() - left < LEAVING) setTimeout(reload, LEAVING);
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
