/* The suite editor: connects sheet, history, saving and panels. */

import { loadDraft } from "./api.js";
import { attachClipboard } from "./clipboard.js";
import * as commands from "./commands.js";
import { announce, counted } from "./dom.js";
import { criticalCells, criticalRegions } from "./formula.js";
import { History } from "./history.js";
import { Keyboard } from "./keyboard.js";
import { ContextMenu } from "./menus.js";
import { GridDocument } from "./model.js";
import { attachPointer } from "./pointer.js";
import { CONDITION, HEAD, ITEM, Selection } from "./selection.js";
import { GridView } from "./view.js";

const TEXTS_ONLY = new Set(["set_cells"]);
const OUTSIDE_SHEET = new Set(["set_predictions", "set_factors", "set_scoring"]);
const QUIET_FOR_SCORES = new Set([
  "set_cells",
  "insert_items",
  "delete_items",
  "move_item",
  "rename_region",
  "move_condition",
  "set_factors",
]);

const alsoHidden = (label, rows) =>
  rows ? `${label[0].toUpperCase()}${label.slice(1)}, also in ${counted(rows, "row")} that the filter hides.` : "";

export class Editor {
  /**
   * @param {object} options
   * @param {HTMLElement} options.box
   * @param {HTMLElement} options.menu
   * @param {string} options.title
   * @param {{url: string, dialog: HTMLElement}} options.headed the dialog for pasted sheets with headings
   * @param {boolean} [options.rightToLeft]
   * @param {object} [options.hooks]
   * @param {(ops: any[], kind: "do" | "undo" | "redo") => void} [options.hooks.onEdit]
   * @param {(ops: any[], keepsScores: boolean) => void} [options.hooks.onChange]
   * @param {(text: string, look: string) => void} [options.hooks.onMessage]
   * @param {() => void} [options.hooks.onFind]
   * @param {() => void} [options.hooks.onSentence]
   * @param {(question: {title: string, users: string[]}, go: () => void) => void} [options.hooks.onAsk]
   * @param {(kind: "undo" | "redo") => Promise<void> | null} [options.hooks.onStep] takes a step from before this visit, if it
   *   is next
   * @param {() => void} [options.hooks.onHidden] called when `goTo` needs a row that the filter hides
   */
  constructor({ box, menu, title, headed, rightToLeft = false, hooks = {} }) {
    this.hooks = hooks;
    this.headed = headed;
    this.selection = new Selection();
    this.loading = true;
    this.stepping = false; // the server takes a step back or forth
    this.waiting = []; // steps that were asked for meanwhile
    const none = () => undefined;
    const nothing = { on: false, bitsOf: none, baselineOf: none, regionOf: none, outcomeOf: none };
    this.sheet = {
      title,
      rightToLeft,
      doc: new GridDocument(),
      selection: this.selection,
      overlay: nothing,
      flags: new Map(),
      critical: { regions: new Set(), cells: new Map() },
      locked: true,
    };
    this.view = new GridView(box, this.sheet);
    this.keyboard = new Keyboard(this);
    this.menu = new ContextMenu(this, menu);
    this.history = new History(this.doc, { onEdit: (ops, _, kind) => this.hooks.onEdit?.(ops, kind) });
    this.view.add.addEventListener("click", () => this.addItem());
    attachClipboard(this);
    attachPointer(this);
  }

  get doc() {
    return this.sheet.doc;
  }

  // --- the document --------------------------------------------------------------------------------------------
  /* Show another state of the same draft. The history is kept; steps that no longer apply are dropped when reached. */
  setDocument(data) {
    const { item, condition } = this.here();
    this.sheet.doc = new GridDocument(data);
    this.history.doc = this.sheet.doc;
    this.doc.filter(this.keep);
    const r = this.doc.rowOf(item, condition);
    if (r >= 0 && !this.selection.isRange) this.selection.to(r, this.selection.c);
    this.lookAtFormulas();
    this.view.layout();
  }

  addRows(rows) {
    this.doc.addRows(rows);
    this.view.repaintAll();
  }

  async load(endpoints, known) {
    this.setLocked(true);
    let seen = null;
    const draft = await loadDraft(
      endpoints,
      (first, rows) => {
        if (seen !== first) {
          seen = first;
          this.setDocument({ ...first, rows });
        } else this.addRows(rows);
      },
      known,
    );
    this.setLocked(false);
    return draft;
  }

  setLocked(locked) {
    this.sheet.locked = locked;
    this.view.box.setAttribute("aria-busy", String(locked));
    if (!locked) this.view.place(this.view.hasFocus);
  }

  mayEdit() {
    if (!this.sheet.locked) return true;
    this.say("The suite is still loading.", "");
    return false;
  }

  lookAtFormulas() {
    const formulas = this.doc.predictions.map((prediction) => prediction.formula);
    this.sheet.critical = { regions: criticalRegions(formulas), cells: criticalCells(formulas) };
  }

  // --- actions --------------------------------------------------------------------------------------------
  perform({ label, ops }, where = null, { visit = null, quiet = false } = {}) {
    if (!this.mayEdit()) return null;
    const hidden = this.doc.hiddenIn(ops);
    let done = null;
    try {
      done = this.history.run(label, ops, this.selection.snapshot(), visit);
    } catch (error) {
      this.say(error.message, "bad");
      return null;
    }
    if (!done) {
      if (label && !quiet) announce(label);
      return null;
    }
    if (where)
      this.selection.to(where.r ?? this.doc.rowOf(where.item, where.condition ?? this.doc.conditions[0]), where.c);
    this.show(done.ops);
    this.say(alsoHidden(label, hidden), "");
    if (!hidden && !quiet && label !== "edit") announce(label);
    return done;
  }

  performAndOpen(entry, where) {
    if (this.perform(entry, where)) this.openCell(this.selection.r, this.selection.c);
  }

  /* Delete a condition or region; ask first if predictions use it. */
  remove(question, entry) {
    const go = () => this.perform(entry);
    if (question.users.length && this.mayEdit()) this.hooks.onAsk?.(question, go);
    else go();
  }

  /* Update the screen after ops: repaint texts, lay out everything else again. */
  show(ops) {
    if (ops.some((op) => op.op === "set_predictions")) this.lookAtFormulas();
    if (ops.every((op) => TEXTS_ONLY.has(op.op))) this.showCells(ops);
    else if (ops.every((op) => OUTSIDE_SHEET.has(op.op)) && !this.sheet.overlay.on) {
      this.view.repaintAll();
      this.view.place(this.view.hasFocus);
    } else {
      const hold = this.view.hasFocus;
      this.view.layout();
      this.view.reveal(this.selection.r, this.selection.c);
      if (hold) this.view.place(true);
    }
    this.hooks.onChange?.(
      ops,
      ops.every((op) => QUIET_FOR_SCORES.has(op.op)),
    );
  }

  showCells(ops) {
    const rows = new Set();
    let many = 0;
    for (const op of ops) {
      for (const [item, condition, region, , text] of op.cells) {
        many += 1;
        if (many <= 2000) rows.add(this.doc.rowOf(item, condition));
        this.view.widen(region - 1, text);
      }
    }
    if (many > 2000) this.view.repaintAll();
    else for (const r of rows) this.view.repaint(r);
    this.view.place(this.view.hasFocus);
  }

  undo() {
    this.step("undo");
  }

  redo() {
    this.step("redo");
  }

  step(kind) {
    if (this.stepping) {
      this.waiting.push(kind);
      return;
    }
    if (!this.mayEdit() || !this.keyboard.commit()) return;
    const earlier = this.hooks.onStep?.(kind);
    if (earlier) {
      this.stepping = true;
      earlier.then(() => {
        this.stepping = false;
        while (this.waiting.length && !this.stepping) this.step(this.waiting.shift());
      });
      return;
    }
    const next = kind === "undo" ? this.history.done.at(-1)?.inverse : this.history.undone.at(-1)?.ops;
    const hidden = this.doc.hiddenIn(next ?? []);
    let entry = null;
    try {
      entry = this.history[kind]();
    } catch (error) {
      this.say(`This step no longer applies: ${error.message}`, "bad");
      return;
    }
    if (!entry) {
      announce(`nothing to ${kind}`);
      return;
    }
    this.selection.restore(entry.where);
    this.selection.clampTo(this.doc.nRows, this.view.nColumns);
    this.view.reveal(this.selection.r, this.selection.c);
    this.show(kind === "undo" ? entry.inverse : entry.ops);
    const label = `${kind === "undo" ? "undone" : "redone"}: ${entry.label}`;
    this.say(alsoHidden(label, hidden), "");
    if (!hidden) announce(label);
  }

  /* Commit the text typed into the active cell. Returns false if it was refused. */
  commitCell(text, seen) {
    const { r, c } = this.selection;
    const { doc } = this;
    let entry = null;
    if (r === HEAD) entry = c >= 0 && c < doc.regions.length ? commands.renameRegion(doc, c + 1, text) : null;
    else if (r < doc.nRows) {
      const { item, condition } = doc.place(r);
      if (c === ITEM) {
        if (!/^\s*\d+\s*$/.test(text)) {
          this.say("An item number must be a whole number.", "bad");
          return false;
        }
        entry = commands.renumberItem(item, Number(text));
      } else if (c === CONDITION) entry = commands.renameCondition(doc, condition, text);
      else if (c < doc.regions.length) entry = commands.setCell(doc, r, c, text, seen);
    }
    if (!entry?.ops.length || !this.mayEdit()) {
      this.view.place(this.view.hasFocus);
      return true;
    }
    const done = this.perform(entry, null, { quiet: entry.label === "edit" });
    if (done || entry.label === "edit") {
      if (!done) this.view.place(this.view.hasFocus);
      return true;
    }
    return false;
  }

  rect() {
    return this.selection.rect(this.doc.nRows, this.doc.regions.length);
  }

  clearSelection() {
    const rect = this.rect();
    if (!rect || this.selection.r === HEAD || this.selection.c < 0)
      announce("use the menu to delete items, conditions or regions");
    else this.perform(commands.clear(this.doc, rect));
    return true;
  }

  /* Add an item below the last row and select its first cell. */
  addItem() {
    if (!this.keyboard.commit()) return;
    this.perform(commands.insertItem(this.doc, this.doc.items.length), { item: this.doc.nextNumber(), c: 0 });
    this.view.place(true);
  }

  fillDown() {
    const rect = this.rect();
    if (rect) this.perform(commands.fillDown(this.doc, rect));
    return true;
  }

  selectAll() {
    if (!this.doc.nRows) return;
    this.selection.range(0, 0, this.doc.nRows - 1, this.doc.regions.length - 1);
    this.view.place(true);
    announce(`all ${this.doc.nRows} rows selected`);
  }

  selectRow() {
    const { r } = this.selection;
    if (r >= 0) this.selection.range(r, 0, r, this.doc.regions.length - 1);
    this.view.place(true);
    return true;
  }

  selectColumn() {
    const { c } = this.selection;
    if (c >= 0 && c < this.doc.regions.length) this.selection.range(0, c, this.doc.nRows - 1, c);
    this.view.place(true);
    return true;
  }

  // --- position --------------------------------------------------------------------------------------------
  /** @returns {{r: number, c: number, item?: number, condition?: string, region?: number}} */
  here() {
    const { r, c } = this.selection;
    const at = r >= 0 && r < this.doc.nRows ? this.doc.place(r) : {};
    const region = c >= 0 && c < this.doc.regions.length ? c + 1 : undefined;
    return { r, c, ...at, region };
  }

  textHere() {
    const { item, condition, region } = this.here();
    return this.doc.cell(item, condition, region);
  }

  chosenItems() {
    const rect = this.selection.isRange ? this.rect() : null;
    const { r } = this.selection;
    return this.itemsOf(rect?.top ?? r, rect?.bottom ?? r);
  }

  itemsOf(first, last) {
    const items = new Set();
    for (let r = Math.max(0, first); r <= Math.min(last, this.doc.nRows - 1); r += 1) items.add(this.doc.place(r).item);
    return [...items];
  }

  moveByKey(key) {
    const { item, condition, region, c, r } = this.here();
    const by = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
    if (key === "ArrowUp" || key === "ArrowDown") {
      if (item === undefined) return true;
      const entry =
        c === CONDITION ? commands.moveCondition(this.doc, condition, by) : commands.moveItem(this.doc, item, by);
      this.perform(entry, { item, condition, c });
    } else if (region !== undefined) {
      const entry = commands.moveRegion(this.doc, region, by);
      this.perform(entry, { r, c: c + (entry.ops.length ? by : 0) });
    }
    return true;
  }

  goTo(item, condition, region) {
    if (this.doc.isHidden(item, condition)) this.hooks.onHidden?.();
    const r = this.doc.rowOf(item, condition);
    if (r < 0) return;
    this.view.box.scrollIntoView({ block: "nearest" });
    this.view.go(r, Math.max(0, Math.min(region, this.doc.regions.length) - 1));
  }

  openCell(r, c) {
    this.view.go(r, c);
    this.keyboard.begin("opened", true);
    this.view.input.select();
  }

  /* Show rows for which keep(item, condition, texts) is true; null shows all. */
  filter(keep) {
    const { item, condition, c } = this.here();
    this.keep = keep;
    this.doc.filter(keep);
    this.selection.to(Math.max(0, this.doc.rowOf(item, condition)), c);
    this.view.layout();
    this.view.reveal(this.selection.r, c);
  }

  openMenu(x, y) {
    const box = this.view.input.getBoundingClientRect();
    this.menu.open(x ?? box.left, y ?? box.bottom);
    return true;
  }

  setFlags(flags) {
    this.sheet.flags = flags;
    this.view.repaintAll();
  }

  setOverlay(overlay) {
    this.sheet.overlay = overlay;
    this.view.layout();
  }

  visibleItems() {
    return this.itemsOf(...this.view.window());
  }

  say(text, look) {
    this.hooks.onMessage?.(text, look);
    if (text) announce(text);
  }
}
