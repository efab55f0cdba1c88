/* Undo history, one entry per action. Undo and redo are sent to the server as edits. */

import { applyOps, isIdle, refresh } from "./model.js";

export class History {
  /**
   * @param {any} doc
   * @param {{onEdit?: (ops: any[], entry: any, kind: "do" | "undo" | "redo") => void}} [hooks]
   */
  constructor(doc, { onEdit = () => {} } = {}) {
    this.doc = doc;
    this.onEdit = onEdit;
    this.done = [];
    this.undone = [];
  }

  /* Apply ops and record them. `where`: the selection to restore; `visit`: edits with the same visit are one step. Returns the entry,
     or null if nothing changed. */
  run(label, ops, where = null, visit = null) {
    const effective = ops.filter((op) => !isIdle(op));
    if (!effective.length) return null;
    const inverse = applyOps(this.doc, effective);
    const last = this.done.at(-1);
    const entry = { label, ops: effective, inverse, where, visit };
    if (visit !== null && last?.visit === visit && this.undone.length === 0) {
      entry.inverse = last.inverse; // both have one set_predictions: redo the last text, undo the first
      this.done.pop();
    }
    this.done.push(entry);
    this.undone = [];
    this.onEdit(effective, entry, "do");
    return entry;
  }

  undo() {
    return this._step(this.done, this.undone, "undo");
  }

  redo() {
    return this._step(this.undone, this.done, "redo");
  }

  _step(from, to, kind) {
    const entry = from.pop();
    if (!entry) return null;
    const source = kind === "undo" ? entry.inverse : entry.ops;
    const ops = [];
    let back = [];
    try {
      for (const op of source) {
        const now = refresh(this.doc, op);
        back = [...applyOps(this.doc, [now]), ...back];
        ops.push(now);
      }
    } catch (error) {
      applyOps(this.doc, back);
      throw error; // the entry no longer applies and is dropped
    }
    to.push({ ...entry, visit: null, inverse: kind === "undo" ? source : back });
    const sent = ops.filter((op) => !isIdle(op));
    if (sent.length) this.onEdit(sent, entry, kind);
    return entry;
  }

  clear() {
    this.done = [];
    this.undone = [];
  }

  get canUndo() {
    return this.done.length > 0;
  }

  get canRedo() {
    return this.undone.length > 0;
  }
}
