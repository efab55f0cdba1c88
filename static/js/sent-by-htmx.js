/* Forms with files that htmx sends (includes/keep_files.html). The response to an invalid form replaces it, and hx-preserve keeps
   the chosen files. Without scripts the browser sends the form, and files have to be chosen again. */

const FORM = "form[hx-encoding]";
const NOT_SENT = "The file could not be sent. If you changed it after choosing it, choose it again.";

function fail(part) {
  const notice = document.createElement("div");
  notice.className = "notice notice-bad";
  notice.setAttribute("role", "alert");
  notice.textContent = NOT_SENT;
  part.querySelector(":scope > [role=alert]")?.remove();
  part.prepend(notice);
  part.scrollIntoView({ block: "start" });
}

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail?.requestConfig?.elt.matches(FORM)) return;
  // An invalid form comes back with status 400, which htmx would not swap in; other error pages do not contain the form.
  detail.shouldSwap = detail.xhr.responseText.includes(`id="${detail.target.id}"`);
  detail.isError = !detail.shouldSwap;
  if (detail.isError) fail(detail.target);
});

/* Move to the first field with an error, once htmx has scrolled to the form. */
document.addEventListener("htmx:afterSettle", ({ detail, target }) => {
  if (!detail?.requestConfig?.elt.matches(FORM)) return;
  const field = target.querySelector(".invalid-feedback")?.closest(".mb-3")?.querySelector("input, select, textarea");
  if (field) setTimeout(() => field.focus(), 0);
});

document.addEventListener("htmx:sendError", ({ detail }) => {
  if (detail?.requestConfig?.elt.matches(FORM)) fail(detail.target);
});

/* htmx leaves the buttons disabled when the browser follows HX-Redirect; enable them when the user comes back to this page. */
window.addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  for (const button of document.querySelectorAll(`${FORM} button`)) button.disabled = false;
});
