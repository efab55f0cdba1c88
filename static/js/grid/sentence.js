/* Dialog that splits a whole sentence into regions: a sign in the text is a boundary; clicking a word starts a region there. */

import { arrows, counted, h } from "./dom.js";
import { tidy } from "./model.js";

const words = new Intl.Segmenter(undefined, { granularity: "word" });

export class SentenceDialog {
  constructor(dialog, editor) {
    this.dialog = dialog;
    this.editor = editor;
    this.part = (name) => dialog.querySelector(`[data-sentence-${name}]`);
    this.field = this.part("text");
    this.list = this.part("regions");
    if (editor.view.rightToLeft) this.list.dir = "rtl";
    this.field.addEventListener("input", () => this.draw());
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      this.go(event.shiftKey ? -1 : 1);
    });
    arrows(this.list, "ArrowLeft", "ArrowRight");
    this.part("cut").addEventListener("click", () => this.cut());
    this.part("previous").addEventListener("click", () => this.go(-1));
    this.part("next").addEventListener("click", () => this.go(1));
    this.part("save").addEventListener("click", () => this.save() && dialog.close());
    dialog.addEventListener("close", () => editor.view.place(true));
  }

  open() {
    if (!this.editor.mayEdit() || !this.editor.keyboard.commit()) return;
    if (!this.editor.doc.nRows) this.editor.say("There is no row for a sentence.", "");
    else this.show(Math.max(0, this.editor.selection.r));
  }

  show(r) {
    const { doc } = this.editor;
    const { item, condition } = doc.place(r);
    this.seen = [...doc.contents(item, condition)];
    this.item = item;
    this.condition = condition;
    this.regions = [...doc.regions];
    this.sign = this.seen.some((text) => text.includes("|")) ? "¦" : "|";
    this.part("title").textContent = `Item ${item}, ${condition}`;
    this.part("place").textContent = `${r + 1} of ${counted(doc.nRows, "sentence")}`;
    for (const mark of this.dialog.querySelectorAll("[data-sentence-sign]")) mark.textContent = this.sign;
    this.field.value = this.seen
      .join(` ${this.sign} `)
      .replace(new RegExp(`( *\\${this.sign} *)+$`), "")
      .trimStart();
    this.shownText = this.field.value;
    this.part("previous").disabled = r === 0;
    this.draw();
    if (!this.dialog.open) this.dialog.showModal();
    this.field.focus();
    this.field.select();
  }

  get unsaved() {
    return this.dialog.open && this.field.value !== this.shownText;
  }

  get pieces() {
    return this.field.value.split(this.sign);
  }

  draw(focused = -1) {
    const { regions, pieces } = this;
    let start = 0;
    const word = ({ segment, index, input }) => {
      const at = start + index;
      return h("button", {
        type: "button",
        class: /\S$/.test(input.slice(0, index)) ? "is-joined" : "",
        tabIndex: -1,
        "aria-pressed": String(this.cutBefore(at) !== undefined),
        text: segment,
        onclick: () => this.toggle(at),
      });
    };
    const parts = Array.from({ length: Math.max(regions.length, pieces.length) }, (_, k) => {
      const segments = [...words.segment(pieces[k] ?? "")].filter(({ segment }) => segment.trim());
      const texts = segments.length ? segments.map(word) : [h("span", { class: "note", text: "∅" })];
      start += (pieces[k] ?? "").length + 1;
      return h(
        "li",
        {},
        h("span", { class: "no", text: k + 1 }),
        h("bdi", { class: "region-name", text: regions[k] ?? "new region" }),
        h("span", { class: "words", dir: "auto" }, ...texts),
      );
    });
    this.list.replaceChildren(...parts);
    const all = this.list.querySelectorAll("button");
    if (all.length) all[0].tabIndex = 0; // Tab goes to the first word, arrows to the others
    if (focused >= 0) all[focused]?.focus();
    const more = pieces.length - regions.length;
    this.part("said").textContent = more > 0 ? `Saving adds ${counted(more, "region")} to the suite.` : "";
  }

  /* Position of the boundary directly before `at`, or undefined. */
  cutBefore(at) {
    const before = this.field.value.slice(0, at).trimEnd();
    return before.endsWith(this.sign) ? before.length - 1 : undefined;
  }

  toggle(at) {
    const place = [...this.list.querySelectorAll("button")].indexOf(document.activeElement);
    const cut = this.cutBefore(at);
    if (cut === undefined) this.field.setRangeText(`${this.sign} `, at, at, "end");
    else this.field.setRangeText("", cut, at, "end");
    this.draw(place);
  }

  /* Insert a boundary at the caret. */
  cut() {
    this.field.setRangeText(` ${this.sign} `, this.field.selectionStart, this.field.selectionEnd, "end");
    this.field.focus();
    this.draw();
  }

  go(by) {
    if (!this.save()) return;
    const r = this.editor.doc.rowOf(this.item, this.condition) + by;
    if (r >= 0 && r < this.editor.doc.nRows) this.show(r);
    else this.dialog.close();
  }

  /* Save the cells that differ from the texts shown at first. Returns false if not saved. */
  save() {
    const { item, condition, regions, seen } = this;
    const { doc } = this.editor;
    if (String(doc.regions) !== String(regions) || !doc.contents(item, condition)) {
      this.part("said").textContent =
        "Another editor changed the regions or this item. Copy your sentence, close this dialog and open it again.";
      return false;
    }
    const texts = this.pieces.map(tidy);
    const ops = texts.slice(regions.length).map((_, k) => ({
      op: "insert_region",
      at: regions.length + k + 1,
      name: `Region ${regions.length + k + 1}`,
      texts: [],
    }));
    const cells = Array.from({ length: Math.max(regions.length, texts.length) }, (_, k) => [
      item,
      condition,
      k + 1,
      seen[k] ?? "",
      texts[k] ?? "",
    ]).filter(([, , , old, text]) => old !== text);
    if (!cells.length && !ops.length) return true;
    return Boolean(
      this.editor.perform(
        { label: `sentence of item ${item}, ${condition}`, ops: [...ops, { op: "set_cells", cells }] },
        { item, condition, c: 0 },
      ),
    );
  }
}
