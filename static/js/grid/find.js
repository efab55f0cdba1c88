/* Find and replace in the texts, and filter rows. Hidden rows are neither searched nor replaced. */

import { textAt } from "./commands.js";
import { cellLabel } from "./cells.js";
import { announce, counted, debounce } from "./dom.js";
import { tidy } from "./model.js";

const WORD = "[\\p{L}\\p{M}\\p{N}_]";

/* The search as a regular expression; null if it is empty. */
export function pattern(text, { matchCase = false, whole = false } = {}, flags = "") {
  if (!text) return null;
  const literal = text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  return new RegExp(whole ? `(?<!${WORD})${literal}(?!${WORD})` : literal, `u${matchCase ? "" : "i"}${flags}`);
}

/* Parse "1-3, 8" into a predicate on numbers; empty matches all, null is a syntax error. */
export function numbersIn(text) {
  const parts = text
    .replace(/\s*[-–]\s*/g, "-")
    .split(/[,;\s]+/)
    .filter(Boolean);
  const ranges = parts
    .map((part) => /^(\d+)(?:-(\d+))?$/.exec(part))
    .map((match) => match && [Number(match[1]), Number(match[2] ?? match[1])]);
  return ranges.every(Boolean)
    ? (number) => !ranges.length || ranges.some(([low, high]) => number >= low && number <= high)
    : null;
}

export class FindPanel {
  constructor(root, state, editor) {
    this.root = root;
    this.state = state;
    this.editor = editor;
    this.part = (name) => root.querySelector(`[data-find-${name}]`);
    this.within = null; // the selected rectangle
    const look = debounce(120, () => this.look());
    const filter = debounce(200, () => this.filter());
    for (const name of ["text", "with", "case", "whole"]) this.part(name).addEventListener("input", look);
    for (const name of ["items", "condition", "row"]) this.part(name).addEventListener("input", filter);
    this.part("selected").addEventListener("change", () => this.choose(this.part("selected").checked));
    this.part("next").addEventListener("click", () => this.go(1));
    this.part("previous").addEventListener("click", () => this.go(-1));
    this.part("one").addEventListener("click", () => this.replaceHere());
    this.part("all").addEventListener("click", () => this.replaceAll());
    this.part("close").addEventListener("click", () => this.close());
    state.querySelector("button").addEventListener("click", () => {
      this.clear();
      editor.view.place(true);
    });
    root.addEventListener("submit", (event) => event.preventDefault());
    root.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") this.close();
      if (event.key === "Enter" && event.target === this.part("text")) this.go(event.shiftKey ? -1 : 1);
    });
  }

  open() {
    if (this.root.hidden) {
      this.root.hidden = false;
      this.choose(this.editor.selection.isRange);
    }
    this.part("text").focus();
    this.part("text").select();
  }

  close() {
    this.root.hidden = true;
    this.look();
    this.editor.view.place(true);
  }

  choose(selected) {
    this.within = selected ? this.editor.rect() : null;
    this.part("selected").checked = Boolean(this.within);
    this.look();
  }

  hitPattern(flags) {
    return this.root.hidden
      ? null
      : pattern(
          this.part("text").value,
          { matchCase: this.part("case").checked, whole: this.part("whole").checked },
          flags,
        );
  }

  /* Cells with hits, in sheet order: [{r, c, hits}]. */
  matches() {
    const { doc } = this.editor;
    const regexp = this.hitPattern("g");
    const { top = 0, left = 0, bottom = doc.nRows - 1, right = doc.regions.length - 1 } = this.within ?? {};
    const cells = [];
    for (let r = top; regexp && r <= Math.min(bottom, doc.nRows - 1); r += 1) {
      for (let c = left; c <= Math.min(right, doc.regions.length - 1); c += 1) {
        const hits = textAt(doc, r, c).match(regexp)?.length;
        if (hits) cells.push({ r, c, hits });
      }
    }
    return cells;
  }

  /* Update after a change of the search or the document. */
  look() {
    const { sheet, view } = this.editor;
    const before = sheet.hitPattern;
    sheet.hitPattern = this.hitPattern();
    if (before || sheet.hitPattern) view.repaintAll();
    const cells = this.matches();
    const hits = cells.reduce((sum, cell) => sum + cell.hits, 0);
    const where = this.within ? " in the selection" : "";
    this.part("count").textContent = sheet.hitPattern
      ? `${hits ? counted(hits, "hit") : "No hits"}${hits ? ` in ${counted(cells.length, "cell")}` : ""}${where}`
      : "";
    for (const name of ["next", "previous", "one", "all"]) this.part(name).disabled = !hits;
    return cells;
  }

  go(by) {
    const { selection, view, sheet } = this.editor;
    const cells = this.look();
    if (!cells.length) return;
    const after = cells.findIndex(({ r, c }) => r > selection.r || (r === selection.r && c > selection.c));
    const before = cells.findLastIndex(({ r, c }) => r < selection.r || (r === selection.r && c < selection.c));
    const { r, c } = cells.at(by > 0 ? Math.max(0, after) : before);
    view.go(r, c, { focus: false });
    announce(`${cellLabel(sheet, r, c, view.extras)}: ${textAt(sheet.doc, r, c)}`);
  }

  replaceHere() {
    const { r, c } = this.editor.selection;
    const here = this.matches().filter((cell) => cell.r === r && cell.c === c);
    if (here.length) this.replace(here);
    this.go(1);
  }

  replaceAll() {
    this.replace(this.matches());
  }

  /* Replace all hits as one edit. */
  replace(matches) {
    const { doc } = this.editor;
    const regexp = this.hitPattern("g");
    const cells = matches.map(({ r, c }) => {
      const { item, condition } = doc.place(r);
      const old = textAt(doc, r, c);
      return [item, condition, c + 1, old, tidy(old.replace(regexp, () => this.part("with").value))];
    });
    const hits = matches.reduce((sum, cell) => sum + cell.hits, 0);
    const label = `replaced ${counted(hits, "hit")} in ${counted(matches.length, "cell")}`;
    if (this.editor.perform({ label, ops: [{ op: "set_cells", cells }] }))
      this.part("count").textContent = `${label[0].toUpperCase()}${label.slice(1)}`;
  }

  // --- rows --------------------------------------------------------------------------------------------------------
  filter() {
    const { doc } = this.editor;
    const numbers = numbersIn(this.part("items").value);
    const condition = this.part("condition").value;
    const text = pattern(this.part("row").value);
    this.part("items").setAttribute("aria-invalid", String(!numbers));
    this.part("items-error").hidden = Boolean(numbers);
    if (!numbers) return;
    this.editor.filter(
      (item, name, row) =>
        numbers(item) && (!condition || name === condition) && (!text || row.some((cellText) => text.test(cellText))),
    );
    this.choose(false);
    this.sync();
    announce(`${doc.nRows} of ${counted(doc.nAll, "row")} shown`);
  }

  clear() {
    for (const name of ["items", "condition", "row"]) this.part(name).value = "";
    this.filter();
  }

  /* Update after a change of the document. */
  sync() {
    const { doc } = this.editor;
    const { value } = this.part("condition");
    const known = [...this.part("condition").options].slice(1).map((option) => option.value);
    if (String(known) !== String(doc.conditions)) {
      const option = (name) => Object.assign(document.createElement("option"), { value: name, textContent: name });
      this.part("condition").replaceChildren(this.part("condition").options[0], ...doc.conditions.map(option));
      this.part("condition").value = doc.conditions.includes(value) ? value : "";
    }
    this.state.hidden = !doc.shown;
    this.state.querySelector("span").textContent =
      `The filter shows ${doc.nRows} of ${counted(doc.nAll, "row")}; the others are not changed.`;
    if (!this.root.hidden) this.look();
  }
}
