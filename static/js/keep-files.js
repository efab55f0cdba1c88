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

function answered(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const said = page.querySelector("[data-form-answer]");
  if (said?.childElementCount) return [...said.childNodes].map((node) => document.importNode(node, true));
  const errors = [...page.querySelectorAll("form .invalid-feedback, form .alert-danger li")];
  const texts = [...new Set(errors.map((one) => one.textContent.trim()).filter(Boolean))];
  return texts.length ? [notice(texts)] : null;
}

async function send(form, button) {
  const data = new FormData(form, button);
  const answer = await fetch(form.action, { method: "POST", body: data, headers: { "X-Sent-By": "script" } });
  const next = answer.headers.get("X-Go-To");
  if (next) return location.assign(next);
  const nodes = answered(await answer.text());
  if (!nodes) throw new Error("not an answer to the form");
  const place = document.querySelector("[data-form-answer]");
  place.replaceChildren(...nodes);
  place.scrollIntoView({ block: "start" });
}

for (const form of document.querySelectorAll("form[data-keep-files]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const buttons = [...form.querySelectorAll("button")];
    const { submitter } = event;
    const sent = send(form, submitter);
    for (const button of buttons) button.disabled = true;
    sent
      .catch(() => document.querySelector("[data-form-answer]").replaceChildren(notice([CHANGED])))
      .finally(() => {
        for (const button of buttons) button.disabled = false;
      });
  });
}
