/* Undo and redo of the user's changes from before this visit. The server restores the states that the draft's history keeps; versions
   are absolute, since restoring adds to the history. */

import { call } from "./api.js";
import { bodyOf, newId } from "./save.js";

export class Earlier {
  /**
   * @param {string} url
   * @param {{version: number, words: string}[]} changes newest first
   */
  constructor(url, changes) {
    this.url = url;
    this.done = [...changes].reverse();
    this.undone = [];
  }

  /* After changes by others, restoring a state would take back their work. */
  clear() {
    this.done = [];
    this.undone = [];
  }

  forgetRedo() {
    this.undone = [];
  }

  get canUndo() {
    return this.done.length > 0;
  }

  get canRedo() {
    return this.undone.length > 0;
  }

  /* Restore the state before the last change ("undo") or after the next one ("redo"). `version`: of the draft now. Returns the new
     version and the change in words; {message} if the server refused. */
  async step(kind, version) {
    const [from, to] = kind === "undo" ? [this.done, this.undone] : [this.undone, this.done];
    const change = from.at(-1);
    const target = kind === "undo" ? change.version - 1 : change.version;
    const edit = { id: newId(), ops: [{ op: "restore", version: target }] };
    const { data } = await call("PATCH", this.url, bodyOf(version, [edit]));
    if (data.conflicts) return { message: data.conflicts[0].message };
    to.push(from.pop());
    return { version: data.version, words: change.words };
  }
}
