/* Keys of the grid. Two states: moving (the input shows the cell, all of it selected) and editing. Editing that began
   by typing ends with an arrow key; editing that began with Enter or F2 keeps the arrows inside the text. Keys are
   ignored during composition (IME). */

import { announce } from "./dom.js";
import { HEAD, ITEM } from "./selection.js";

const MIRRORED = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };

/* WebKitGTK reports Shift+Tab as "Unidentified"; only `code` names the key. */
function keyOf({ key, code }) {
  return key === "Unidentified" && code === "Tab" ? "Tab" : key;
}

const PAUSE = 2000;

export class Keyboard {
  constructor(editor) {
    this.editor = editor;
    this.view = editor.view;
    this.editing = null; // null | "typed" | "opened"
    this.leaving = false;
    const { input, box } = this.view;
    this.view.isEditing = () => this.editing !== null;
    input.addEventListener("keydown", (event) => this.onKey(event));
    input.addEventListener("compositionstart", () => this.begin("typed"));
    input.addEventListener("input", () => this.onInput());
    input.addEventListener("focus", () => box.classList.add("has-focus"));
    input.addEventListener("blur", () => this.onBlur());
  }

  begin(kind, caretAtEnd = false) {
    if (this.editing || this.view.input.readOnly) return this.editing !== null;
    this.editing = kind;
    this.typedAt = performance.now();
    this.seen = this.editor.textHere();
    const { input, box } = this.view;
    box.classList.add("is-editing");
    if (caretAtEnd) input.setSelectionRange(input.value.length, input.value.length);
    this.grow();
    return true;
  }

  onInput() {
    if (!this.editing) this.begin("typed");
    this.typedAt = performance.now();
    this.grow();
    this.editor.onTyping?.();
  }

  get isTyping() {
    return this.editing !== null && performance.now() - this.typedAt < PAUSE;
  }

  /* Resolve when editing ends or pauses. */
  async rest() {
    while (this.isTyping) await new Promise((done) => setTimeout(done, 50));
  }

  /* Show a long text in full while it is edited. */
  grow() {
    const { input } = this.view;
    input.style.width = "";
    if (input.scrollWidth > input.clientWidth) input.style.width = `${Math.min(input.scrollWidth + 24, 480)}px`;
  }

  stop() {
    this.editing = null;
    this.view.box.classList.remove("is-editing");
    this.view.input.style.width = "";
  }

  cancel() {
    this.stop();
    this.view.place(true);
  }

  /* Commit the typed text. Returns false if it was refused; the cell stays in edit mode. */
  commit(focus = true) {
    if (!this.editing) return true;
    const { value } = this.view.input;
    this.stop();
    if (this.editor.commitCell(value, this.seen)) return true;
    if (focus) {
      this.view.input.value = value;
      this.begin("opened");
    } else this.view.place(false);
    return false;
  }

  onBlur() {
    if (this.view.holding) return;
    this.view.box.classList.remove("has-focus");
    this.commit(false);
    this.leaving = false;
  }

  onKey(event) {
    if (event.isComposing || event.keyCode === 229) return;
    const handled = this.editing ? this.whileEditing(event) : this.whileMoving(event);
    if (handled) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  whileEditing(event) {
    const { shiftKey } = event;
    const key = keyOf(event);
    const control = event.ctrlKey || event.metaKey;
    if (key === "Escape") {
      this.cancel();
      announce("edit cancelled");
      return true;
    }
    if (key === "F2") {
      this.editing = "opened";
      return true;
    }
    if (key === "Enter" || key === "Tab") {
      if (event.altKey || !this.commit()) return true;
      if (key === "Tab") return this.tab(shiftKey);
      return this.step(shiftKey ? -1 : 1, 0);
    }
    if (this.editing === "typed" && !control && !shiftKey && key.startsWith("Arrow")) {
      if (!this.commit()) return true;
      return this.arrow(this.inSheet(key), false);
    }
    return false;
  }

  /* In a right-to-left sheet the left arrow goes to the next region. */
  inSheet(key) {
    return (this.view.rightToLeft && MIRRORED[key]) || key;
  }

  whileMoving(event) {
    const { shiftKey, altKey } = event;
    const key = this.inSheet(keyOf(event));
    const control = event.ctrlKey || event.metaKey;
    const { editor } = this;
    if (key === "Tab" && !control && !altKey) return this.tab(shiftKey);
    this.leaving = key === "Escape";
    if (key === "Escape") {
      announce("Tab leaves the grid now");
      return true;
    }
    if (altKey && shiftKey && key.startsWith("Arrow")) return editor.moveByKey(key);
    if (altKey) return false;
    if (key === "ContextMenu" || (key === "F10" && shiftKey)) return editor.openMenu();
    if (control) return this.withControl(key.toLowerCase(), shiftKey);
    if (key.startsWith("Arrow")) return this.arrow(key, shiftKey);
    if (key === "Enter" || key === "F2") {
      if (!this.begin("opened", true)) announce("this cell is read only");
      return true;
    }
    if (key === "Home") return this.jump(this.view.sheet.selection.r, shiftKey ? 0 : this.firstColumn, shiftKey);
    if (key === "End") return this.jump(this.view.sheet.selection.r, editor.doc.regions.length - 1, shiftKey);
    if (key === "PageUp") return this.step(-this.view.pageRows, 0, shiftKey);
    if (key === "PageDown") return this.step(this.view.pageRows, 0, shiftKey);
    if (key === "Delete" || key === "Backspace") return editor.clearSelection();
    if (key === " " && shiftKey) return editor.selectRow();
    return false;
  }

  get firstColumn() {
    return this.view.sheet.selection.c <= 0 ? ITEM : 0;
  }

  withControl(key, shift) {
    const { editor } = this;
    const { doc } = editor;
    const { r, c } = this.view.sheet.selection;
    const right = doc.regions.length - 1;
    const actions = {
      z: () => (shift ? editor.redo() : editor.undo()),
      y: () => editor.redo(),
      d: () => editor.fillDown(),
      enter: () => editor.hooks.onSentence?.(),
      f: () => editor.hooks.onFind?.(),
      a: () => editor.selectAll(),
      " ": () => editor.selectColumn(),
      home: () => this.jump(0, shift ? 0 : Math.max(0, 0), shift),
      end: () => this.jump(doc.nRows - 1, right, shift),
      arrowup: () => this.jump(0, c, shift),
      arrowdown: () => this.jump(doc.nRows - 1, c, shift),
      arrowleft: () => this.jump(r, 0, shift),
      arrowright: () => this.jump(r, right, shift),
    };
    if (!Object.hasOwn(actions, key)) return false; // copy, cut and paste are clipboard events
    actions[key]();
    return true;
  }

  jump(r, c, extend) {
    this.view.go(r, c, { extend });
    return true;
  }

  arrow(key, extend) {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key];
    return this.step(down, right, extend);
  }

  step(down, right, extend = false) {
    const { selection } = this.view.sheet;
    const lowest = extend && selection.anchor.r >= 0 ? 0 : HEAD;
    const leftmost = extend && selection.anchor.c >= 0 ? 0 : ITEM;
    const farthest = extend ? this.editor.doc.regions.length - 1 : this.view.nColumns - 1;
    const r = Math.max(lowest, Math.min(this.editor.doc.nRows - 1, selection.r + down));
    const c = Math.max(leftmost, Math.min(Math.max(farthest, selection.c), selection.c + right));
    this.view.go(r, c, { extend });
    return true;
  }

  /* Tab moves through the texts row by row; past the last one, and after Escape, focus leaves the grid. */
  tab(backwards) {
    if (this.leaving) {
      this.leaving = false;
      return false;
    }
    const { selection } = this.view.sheet;
    const n = this.editor.doc.regions.length;
    let { r, c } = selection;
    c += backwards ? -1 : 1;
    if (c >= n) [r, c] = [r + 1, 0];
    else if (c < 0) [r, c] = [r - 1, n - 1];
    if (r < HEAD || r >= this.editor.doc.nRows) return false;
    this.view.go(r, c);
    return true;
  }
}
