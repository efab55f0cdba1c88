/* Sign out and delete the user's data from this browser, which others may use next. Ask first if there are unsaved edits. */

import { forgetPerson, unsavedSuites } from "./grid/store.js";

const COOKIE = "gym_signed_out";
const form = document.querySelector("form[data-sign-out]");
const dialog = document.querySelector("dialog[data-sign-out-question]");

function leave(user) {
  document.dispatchEvent(new Event("signing-out")); // the editor on this page stops storing drafts and asking about unsaved edits
  forgetPerson(user);
}

function ask(suites) {
  const list = dialog.querySelector("[data-unsaved-suites]");
  list.replaceChildren(
    ...suites.map((slug) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = dialog.dataset.editor.replace("SLUG", encodeURIComponent(slug));
      link.textContent = slug;
      item.append(link);
      return item;
    }),
  );
  dialog.showModal();
}

form?.addEventListener("submit", (event) => {
  document.activeElement?.blur(); // commit the text being typed
  const user = form.dataset.signOut;
  const suites = unsavedSuites(user);
  if (!suites.length) return leave(user);
  event.preventDefault();
  ask(suites);
});

dialog?.querySelector("[data-sign-out-anyway]").addEventListener("click", () => {
  leave(form.dataset.signOut);
  form.submit();
});
for (const button of dialog?.querySelectorAll("[data-stay]") ?? [])
  button.addEventListener("click", () => dialog.close());

/* The server's cookie names the user who last signed out, on whichever page. */
const name = document.cookie
  .split("; ")
  .find((cookie) => cookie.startsWith(`${COOKIE}=`))
  ?.slice(COOKIE.length + 1);
if (name) {
  forgetPerson(decodeURIComponent(name));
  document.cookie = `${COOKIE}=; path=/; max-age=0`;
}
