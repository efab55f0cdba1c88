/* A form with data-unsaved asks before typed text is lost, by whatever link or button one leaves. data-unsaved="yes": it
   came back unsaved. Its own buttons send the text along. */

let sending = false;
const changed = new Set();
for (const form of document.querySelectorAll("form[data-unsaved]")) {
  if (form.dataset.unsaved === "yes") changed.add(form);
  form.addEventListener("input", () => changed.add(form));
  form.addEventListener("submit", () => (sending = true));
}
if (document.querySelector("form[data-unsaved]")) {
  window.addEventListener("beforeunload", (event) => {
    if (sending || !changed.size) return;
    event.preventDefault();
    event.returnValue = "";
  });
  window.addEventListener("pageshow", () => (sending = false));
}
