/* One entry per action of the person. Undo and redo are edits of their own: the server sees them as such. */

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

  /* where: the selection to go back to; visit: edits of one visit to a field are one step. Answers the entry, or null
     when there was nothing to do. */
  run(label, ops, where = null, visit = null) {
    const wanted = ops.filter((op) => !isIdle(op));
    if (!wanted.length) return null;
    const inverse = applyOps(this.doc, wanted);
    const last = this.done.at(-1);
    const entry = { label, ops: wanted, inverse, where, visit };
    if (visit !== null && last?.visit === visit && this.undone.length === 0) {
      entry.inverse = last.inverse; // both hold one set_predictions: the last text is redone, the first one undone
      this.done.pop();
    }
    this.done.push(entry);
    this.undone = [];
    this.onEdit(wanted, entry, "do");
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
      throw error; // it no longer fits: the entry is gone
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
