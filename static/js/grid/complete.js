/* Completion of regions and conditions in a formula: arrows choose, Enter or Tab accepts. */

import { completionAt } from "./formula.js";
import { announce, counted, h } from "./dom.js";

let serial = 0;

export class Completer {
  constructor(field, list, getDoc) {
    this.field = field;
    this.list = list;
    this.getDoc = getDoc;
    this.completion = null;
    this.at = 0;
    serial += 1;
    list.id = `formula-options-${serial}`;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Regions and conditions");
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", list.id);
    field.addEventListener("input", (event) => !event.isComposing && this.look());
    field.addEventListener("keydown", (event) => this.onKey(event));
    field.addEventListener("blur", () => this.close());
    list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const option = event.target.closest("[role=option]");
      if (option) this.take([...list.children].indexOf(option));
    });
  }

  look() {
    const { regions, conditions } = this.getDoc();
    this.completion = completionAt(this.field.value, this.field.selectionStart, regions, conditions);
    this.at = 0;
    if (!this.completion) this.close();
    else this.show();
  }

  show() {
    const options = this.completion.options
      .slice(0, 12)
      .map((option, k) =>
        h(
          "li",
          { role: "option", id: `${this.list.id}-${k}`, "aria-selected": k === this.at ? "true" : "false" },
          h("span", { text: option.label }),
          h("span", { class: "note", text: option.detail }),
        ),
      );
    const opened = this.list.hidden;
    this.list.replaceChildren(...options);
    this.list.hidden = false;
    this.field.setAttribute("aria-activedescendant", `${this.list.id}-${this.at}`);
    options[this.at]?.scrollIntoView({ block: "nearest" });
    if (opened) announce(`${counted(options.length, this.completion.kind)} to choose from`);
  }

  close() {
    this.completion = null;
    this.list.hidden = true;
    this.field.removeAttribute("aria-activedescendant");
  }

  onKey(event) {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.look();
      return;
    }
    if (!this.completion) return;
    const n = Math.min(12, this.completion.options.length);
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      this.at = (this.at + move + n) % n;
      this.show();
    } else if (event.key === "Enter" || event.key === "Tab") this.take(this.at);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  take(k) {
    const { from, to, options, kind } = this.completion;
    const { field } = this;
    field.focus();
    field.setRangeText(options[k].insert, from, to, "end");
    this.close();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    if (kind === "region") this.look();
    else this.close();
  }
}
