/* <input data-filter="#list"> shows the entries of a list that contain all typed words. A button [data-tick="#list"] ticks the
   entries shown, or unticks them if all are ticked. Without scripts, both are hidden. */

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase();

export function matches(text, words) {
  const searched = plain(text);
  return plain(words)
    .split(/\s+/)
    .every((word) => searched.includes(word));
}

const shown = (list) => [...list.querySelectorAll("input[type=checkbox]")].filter((box) => !box.closest("[hidden]"));

function label(button, list) {
  const boxes = shown(list);
  button.disabled = boxes.length === 0;
  button.textContent =
    boxes.length && boxes.every((box) => box.checked) ? "Untick all shown" : `Tick all shown (${boxes.length})`;
}

function enhance(root) {
  for (const button of root.querySelectorAll("button[data-tick]")) {
    const list = document.querySelector(button.dataset.tick);
    button.hidden = false;
    label(button, list);
    list.addEventListener("change", () => label(button, list));
    button.addEventListener("click", () => {
      const boxes = shown(list);
      const on = !boxes.every((box) => box.checked);
      for (const box of boxes) box.checked = on;
      label(button, list);
    });
  }
  for (const input of root.querySelectorAll("input[data-filter]")) {
    const list = document.querySelector(input.dataset.filter);
    const button = document.querySelector(`button[data-tick="${input.dataset.filter}"]`);
    input.closest("[data-filter-box]").hidden = false;
    input.addEventListener("input", () => {
      for (const entry of list.children) entry.hidden = !matches(entry.textContent, input.value);
      if (button) label(button, list);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault();
    });
  }
}

/* Add a search field above a long <select data-search="models">. */
const MANY = 8;

function search(select) {
  const options = [...select.options];
  if (options.length <= MANY) return;
  const parts = [...select.children].map((part) => [part, part.matches("optgroup") ? [...part.children] : [part]]);
  const input = document.createElement("input");
  Object.assign(input, {
    type: "search",
    className: "form-control select-search",
    placeholder: `Search ${select.dataset.search}`,
  });
  input.setAttribute("aria-label", input.placeholder);
  select.before(input);
  input.addEventListener("input", () => {
    const chosen = select.selectedOptions[0];
    const hits = options.filter((option) => matches(option.textContent, input.value));
    const shown = new Set(hits.length ? hits : [chosen]);
    select.replaceChildren(
      ...parts.flatMap(([part, members]) => {
        const left = members.filter((option) => shown.has(option));
        if (part.matches("optgroup")) part.replaceChildren(...left);
        return left.length ? [part] : [];
      }),
    );
    const next = shown.has(chosen) ? chosen : hits[0];
    next.selected = true;
    if (next !== chosen) select.dispatchEvent(new Event("change", { bubbles: true }));
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}

function searchAll(root) {
  for (const select of root.querySelectorAll("select[data-search]")) {
    if (!select.previousElementSibling?.matches(".select-search")) search(select);
  }
}

enhance(document);
searchAll(document);
document.addEventListener("htmx:afterSettle", ({ target }) => searchAll(target));
