/* Ask before a deletion that predictions depend on. */

import { counted, h } from "./dom.js";

/* Show the dialog. `users`: names of the predictions; go() is called once the user confirms. */
export function ask(dialog, { title, users }, go, after) {
  const part = (name) => dialog.querySelector(`[data-ask-${name}]`);
  part("title").textContent = title;
  part("text").textContent = `${counted(users.length, "prediction")} ${users.length === 1 ? "uses" : "use"} it:`;
  part("list").replaceChildren(...users.map((text) => h("li", { text, dir: "auto" })));
  let confirmed = false;
  part("yes").onclick = () => {
    confirmed = true;
    dialog.close();
  };
  dialog.addEventListener(
    "close",
    () => {
      if (confirmed) go();
      after();
    },
    { once: true },
  );
  dialog.showModal();
}
