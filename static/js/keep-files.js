/* A form with data-keep-files is sent without leaving the page, so that the chosen file and what was typed stay when it is
   refused, or only checked. What the answer says takes the place of the page's [data-form-answer]. Without this file the
   form works, and the file is chosen again. */

const CHANGED = "The file could not be sent. If you changed it after choosing it, choose it again.";

function notice(texts) {
  const box = document.createElement("div");
  box.className = "notice notice-bad";
  box.setAttribute("role", "alert");
  const list = document.createElement("ul");
  for (const text of texts) list.append(Object.assign(document.createElement("li"), { textContent: text }));
  box.append(list);
  return box;
}

/* What is wrong with a field, after its label. */
function said(error) {
  const label = error.closest(".mb-3")?.querySelector("label")?.firstChild?.textContent.trim();
  const text = error.textContent.trim();
  return label && text ? `${label}: ${text}` : text;
}

/* Marks the fields that the answer's form marks. */
function mark(form, answer) {
  for (const field of form.querySelectorAll("[name]:not([type=hidden])")) {
    const wrong =
      answer?.querySelector(`[name="${CSS.escape(field.name)}"]`)?.classList.contains("is-invalid") ?? false;
    field.classList.toggle("is-invalid", wrong);
    if (wrong) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}

function answered(html, form) {
  const page = new DOMParser().parseFromString(html, "text/html");
  mark(form, page.querySelector("form[data-keep-files]"));
  const told = page.querySelector("[data-form-answer]");
  if (told?.childElementCount) return [...told.childNodes].map((node) => document.importNode(node, true));
  const errors = [...page.querySelectorAll("form .invalid-feedback, form .alert-danger li")];
  const texts = [...new Set(errors.map(said).filter(Boolean))];
  return texts.length ? [notice(texts)] : null;
}

/* Whether the page stays. */
async function send(form, button) {
  const data = new FormData(form, button);
  const answer = await fetch(form.action, { method: "POST", body: data, headers: { "X-Sent-By": "script" } });
  const next = answer.headers.get("X-Go-To");
  if (next) {
    location.assign(next);
    return false;
  }
  const nodes = answered(await answer.text(), form);
  if (!nodes) throw new Error("not an answer to the form");
  const place = document.querySelector("[data-form-answer]");
  place.replaceChildren(...nodes);
  place.scrollIntoView({ block: "start" });
  return true;
}

function failed() {
  document.querySelector("[data-form-answer]").replaceChildren(notice([CHANGED]));
  return true;
}

for (const form of document.querySelectorAll("form[data-keep-files]")) {
  const disable = (disabled) => {
    for (const button of form.querySelectorAll("button")) button.disabled = disabled;
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const sent = send(form, event.submitter).catch(failed);
    disable(true);
    // Where the next page is on its way, a second press would send the files again.
    if (!(await sent)) return;
    disable(false);
    form.dispatchEvent(new Event("answered"));
  });
  window.addEventListener("pageshow", ({ persisted }) => {
    if (persisted) disable(false); // back from the next page
  });
}
