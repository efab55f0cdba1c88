/* Build a comparison from lists instead of typing a formula. */

import { reference } from "./formula.js";
import { h } from "./dom.js";

const OPERATORS = [
  [">", "is higher than"],
  ["<", "is lower than"],
  ["=", "is about the same as"],
];

const option = (value, text) => h("option", { value, text });

export function comparison(left, operator, right) {
  return `${reference(left.region, left.condition)} ${operator} ${reference(right.region, right.condition)}`;
}

/* Join a second comparison with &. */
export function joined(formula, added) {
  const before = formula.trim();
  if (!before) return added;
  const isJoined = /^\[.*\]$/s.test(before) && /\]\s*&\s*\[/.test(before);
  return `${isJoined ? before : `[${before}]`} & [${added}]`;
}

/* onUse(formula part) is called with the finished comparison. */
export function builder(getDoc, onUse, serial) {
  const select = (name, label) => {
    const id = `build-${serial}-${name}`;
    return h(
      "div",
      { class: "field" },
      h("label", { for: id, text: label }),
      h("select", { id, class: "form-select", name }),
    );
  };
  const fields = {
    r1: select("r1", "Surprisal at"),
    c1: select("c1", "in condition"),
    op: select("op", "compared"),
    r2: select("r2", "that at"),
    c2: select("c2", "in condition"),
  };
  const input = (name) => fields[name].querySelector("select");
  const box = h("details", { class: "build" }, h("summary", { class: "note", text: "Build a comparison from lists" }));
  const fill = () => {
    const { regions, conditions } = getDoc();
    const chosen = Object.fromEntries(Object.keys(fields).map((name) => [name, input(name).value]));
    for (const name of ["r1", "r2"]) {
      input(name).replaceChildren(
        ...regions.map((name, k) => option(k + 1, `${k + 1} ${name}`)),
        option("*", "the whole sentence"),
      );
    }
    for (const name of ["c1", "c2"])
      input(name).replaceChildren(...conditions.map((condition) => option(condition, condition)));
    input("op").replaceChildren(...OPERATORS.map(([sign, words]) => option(sign, words)));
    for (const name of Object.keys(fields))
      if ([...input(name).options].some((option) => option.value === chosen[name])) input(name).value = chosen[name];
    if (!chosen.c2 && conditions.length > 1) input("c2").selectedIndex = 1;
  };
  box.addEventListener("toggle", () => box.open && fill());
  input("r1").addEventListener("change", () => {
    input("r2").value = input("r1").value;
  });
  const side = (n) => ({ region: input(`r${n}`).value, condition: input(`c${n}`).value });
  const use = h("button", {
    type: "button",
    class: "btn btn-s",
    text: "Add to the formula",
    onclick: () => onUse(comparison(side(1), input("op").value, side(2))),
  });
  box.append(h("div", { class: "build-fields" }, fields.r1, fields.c1, fields.op, fields.r2, fields.c2, use));
  return box;
}
