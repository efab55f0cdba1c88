/* Live parts carry data-announce: when its text changes after a swap, screen readers hear the new one, once.
   A swapped part with data-reload is the last one of its kind: the rest of the page has news too. */

let last = document.querySelector("[data-announce]")?.dataset.announce ?? "";

document.addEventListener("htmx:afterSettle", () => {
  if (document.querySelector("[data-reload]")) {
    location.reload();
    return;
  }
  const text = document.querySelector("[data-announce]")?.dataset.announce ?? "";
  if (text === "" || text === last) return;
  last = text;
  const region = document.querySelector("#announcer");
  if (region) region.textContent = text;
});
