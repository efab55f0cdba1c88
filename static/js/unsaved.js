/* Ask before typed text or chosen files are lost, whichever link or button leads away. Sending a form does not ask.

   A form asks when it has a text area or a file input. A form that was refused, or with data-unsaved="yes", has unsaved input
   from the start. One that htmx sends on every keystroke (hx-trigger) asks only with data-unsaved. */

const WORTH_A_QUESTION = "textarea, input[type=file]";
const REFUSED = ".is-invalid, .alert-danger";

let sending = false;
const changed = new Set();
const asks = (form) =>
  form.matches("form[method=post]") &&
  ("unsaved" in form.dataset || (!form.hasAttribute("hx-trigger") && form.querySelector(WORTH_A_QUESTION) !== null));

for (const form of document.querySelectorAll("form[method=post]")) {
  if (asks(form) && (form.dataset.unsaved === "yes" || form.querySelector(REFUSED))) changed.add(form);
}
document.addEventListener("input", ({ target }) => {
  if (target.form && asks(target.form)) changed.add(target.form);
});
document.addEventListener("submit", ({ target }) => {
  if (asks(target)) sending = true;
});
/* A form sent by htmx came back: its page stays, and its input is still unsaved. */
for (const event of ["htmx:afterSwap", "htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(event, ({ detail }) => {
    if (detail?.requestConfig?.elt.matches("form")) sending = false;
  });
}
window.addEventListener("beforeunload", (event) => {
  if (sending || !changed.size) return;
  event.preventDefault();
  event.returnValue = "";
});
window.addEventListener("pageshow", () => {
  sending = false;
});
