/* Ask for confirmation before the user leaves a page with typed text or chosen files that were not sent. Sending a form
   does not ask.

   This applies to forms with a text area or a file input. Invalid forms, and forms with data-unsaved="yes", have unsaved
   input from the start. Forms that htmx sends on every keystroke (hx-trigger) are included only with data-unsaved. */

const WORTH_A_QUESTION = "textarea, input[type=file]";
const REFUSED = ".is-invalid, [aria-invalid=true], .alert-danger";

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
/* htmx has sent a form and the page stays open: the input is still unsaved. */
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
