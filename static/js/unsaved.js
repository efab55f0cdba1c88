/* Forms with texts or files ask before what was typed or chosen is lost, by whatever link or button one leaves. Their own
   buttons send it along. A form that came back refused, or with data-unsaved="yes", holds unsaved text already; one that
   answers while one types (hx-post) keeps nothing, and only asks with data-unsaved. */

const WORTH_A_QUESTION = "textarea, input[type=file]";
const REFUSED = ".is-invalid, .alert-danger";

let sending = false;
const changed = new Set();
const asks = (form) =>
  "unsaved" in form.dataset || (!form.hasAttribute("hx-post") && form.querySelector(WORTH_A_QUESTION) !== null);
const guarded = [...document.querySelectorAll("form[method=post]")].filter(asks);
for (const form of guarded) {
  if (form.dataset.unsaved === "yes" || form.querySelector(REFUSED)) changed.add(form);
  form.addEventListener("input", () => changed.add(form));
  form.addEventListener("submit", () => (sending = true));
  form.addEventListener("answered", () => (sending = false)); // and the page stays: keep-files.js
}
if (guarded.length) {
  window.addEventListener("beforeunload", (event) => {
    if (sending || !changed.size) return;
    event.preventDefault();
    event.returnValue = "";
  });
  window.addEventListener("pageshow", () => (sending = false));
}
