/* Live parts carry data-announce: when its text changes after a swap, screen readers hear the new one, once. */

let last = document.querySelector("[data-announce]")?.dataset.announce ?? "";

document.addEventListener("htmx:afterSettle", () => {
  const text = document.querySelector("[data-announce]")?.dataset.announce ?? "";
  if (text === "" || text === last) return;
  last = text;
  const region = document.querySelector("#announcer");
  if (region) region.textContent = text;
});
