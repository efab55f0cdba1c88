/* The visible table. Only rows in view (and the active one) exist in the DOM; equal heights allow padding for the rest. The active
   cell contains the grid's only input, which receives typing, composition and clipboard events. */

import { cellLabel, LONG, paintCell, paintHead } from "./cells.js";
import { h, icon } from "./dom.js";
import { HEAD, ITEM, CONDITION } from "./selection.js";

const OVERSCAN = 8;
const NARROWEST = 4.5;
const WIDEST = 22;
const BITS = 3; // room for "1234.5" after a text
const TOTAL = 5;
const RESULT = 6.5; // room for a margin of four digits, "≈" and the mark

const widthOf = (extra) => (extra === "total" ? TOTAL : RESULT);

/* Sides of a cell on the outline of the selected rectangle. */
function edgesOf({ top, right, bottom, left }, r, c, rightToLeft) {
  const [first, last] = rightToLeft ? ["right", "left"] : ["left", "right"];
  return [r === top && "top", c === right && last, r === bottom && "bottom", c === left && first]
    .filter(Boolean)
    .join(" ");
}

export class GridView {
  constructor(box, sheet) {
    this.box = box;
    this.rightToLeft = sheet.rightToLeft;
    if (this.rightToLeft) box.dir = "rtl";
    this.sheet = sheet; // doc, selection, overlay, flags, critical
    this.rows = new Map();
    this.pads = [];
    this.isEditing = () => false; // replaced by Keyboard
    this.onPlace = () => {}; // replaced by the page
    this.first = 0;
    this.last = -1;
    this.widths = [];
    this.pen = document.createElement("canvas").getContext("2d");
    this.input = h("input", {
      class: "grid-input",
      type: "text",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: false,
      dir: "auto",
      enterkeyhint: "next",
    });
    this.colgroup = h("colgroup");
    this.headRow = h("tr", { "aria-rowindex": 1 });
    this.body = h("tbody");
    this.table = h(
      "table",
      { class: "grid", role: "grid", "aria-multiselectable": "true", "aria-describedby": "grid-help-line" },
      this.colgroup,
      h("thead", {}, this.headRow),
      this.body,
    );
    this.table.setAttribute("aria-label", sheet.title ?? "Sentences");
    this.empty = h("p", { class: "grid-empty", dir: "ltr", hidden: true });
    this.add = h("button", { type: "button", class: "btn btn-quiet btn-s grid-add" }, icon("plus"), "Item");
    this.add.setAttribute("aria-label", "Add an item below");
    box.replaceChildren(this.table, this.empty, this.add);
    box.addEventListener("scroll", () => this.onScroll(), { passive: true });
    new ResizeObserver(() => {
      this._makeRoom();
      this.render();
    }).observe(box);
  }

  get doc() {
    return this.sheet.doc;
  }

  /* Preview columns, after the regions. */
  get extras() {
    const { overlay } = this.sheet;
    return overlay.on ? ["total", ...this.doc.predictions.map((_, k) => k)] : [];
  }

  /* Width of the preview columns from `first` on, in rem. */
  _resultsWidth(first = 0) {
    return this.extras.slice(first).reduce((sum, extra) => sum + widthOf(extra), 0);
  }

  get nColumns() {
    return this.doc.regions.length + this.extras.length;
  }

  // --- structure -----------------------------------------------------------------------------------------------
  /* Rebuild headings, widths and rows, after any change other than of texts. */
  layout() {
    const { doc, table } = this;
    this.sheet.selection.clampTo(doc.nRows, this.nColumns);
    table.setAttribute("aria-rowcount", doc.nRows + 1);
    table.setAttribute("aria-colcount", this.nColumns + 2);
    table.classList.toggle("has-overlay", this.sheet.overlay.on);
    this.empty.hidden = doc.nRows > 0;
    this.empty.textContent = doc.nAll
      ? "No row matches the filter."
      : "No items yet. Add the first one from the Item menu, or paste a sheet here.";
    this._measure();
    const hold = this.hasFocus;
    const draft = this.isEditing() ? this.input.value : null;
    this.holding = true;
    this.input.remove();
    this.headRow.replaceChildren();
    for (let c = ITEM; c < this.nColumns; c += 1) {
      const th = h("th", { scope: "col", "aria-colindex": c + 3 });
      th.grid = { r: HEAD, c };
      this._stick(th, c);
      paintHead(th, this.sheet, c, this.extras);
      this.headRow.append(th);
    }
    for (const tr of this.rows.values()) tr.remove();
    this.rows.clear();
    this.last = -1;
    this._makeRoom();
    this.render(true);
    this.place(hold);
    this.holding = false;
    if (draft !== null) this.input.value = draft;
  }

  _measure() {
    const { doc } = this;
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    const style = getComputedStyle(this.box);
    this.pen.font = `${0.9375 * rem}px ${style.getPropertyValue("--font-serif") || "serif"}`;
    const extra = this.sheet.overlay.on ? BITS : 0;
    const step = Math.max(1, Math.floor(doc.nRows / 400));
    const widths = doc.regions.map((name) => this._nameWidth(name) - extra * rem);
    for (let r = 0; r < doc.nRows; r += step) {
      const { item, condition } = doc.place(r);
      const row = doc.contents(item, condition);
      if (row) row.forEach((text, k) => (widths[k] = Math.max(widths[k], this._textWidth(text))));
    }
    const names = doc.conditions.map((name) => {
      const width = this._textWidth(name) / rem;
      return 2.2 + (name.length > LONG ? width / 2 : width);
    });
    const conditionWidth = Math.min(14, Math.max(5.5, ...names));
    this.widths = widths.map((px) => Math.min(WIDEST, Math.max(NARROWEST, px / rem + 1.2 + extra)));
    this.box.style.setProperty("--w-cond", `${conditionWidth}rem`);
    const all = [...this.widths, ...this.extras.map(widthOf)];
    this.colgroup.replaceChildren(
      h("col", { class: "col-item" }),
      h("col", { class: "col-cond" }),
      ...all.map((width) => {
        const col = h("col");
        col.style.width = `${width}rem`;
        return col;
      }),
    );
    const total = all.reduce((sum, width) => sum + width, 0);
    this.table.style.setProperty("--w-rest", `${total}rem`);
  }

  /* Preview columns stick to the right edge while they leave room for the texts. */
  _stick(cell, c) {
    const k = c - this.doc.regions.length;
    if (k >= 0 && this.extras.length <= 4) cell.style.insetInlineEnd = `${this._resultsWidth(k + 1)}rem`;
  }

  /* Sticky conditions and results must leave room for the widest region, so that they never cover a whole cell. Items are narrow and
     always stick. */
  _makeRoom() {
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    const left = this._startOf(this.headRow.cells[2]);
    const widest = Math.max(0, ...this.widths) * rem;
    this.box.classList.toggle("conditions-loose", this.box.clientWidth - left < widest);
    const room = this.box.clientWidth - left - this._resultsWidth() * rem;
    const stick = this.extras.length > 0 && this.extras.length <= 4 && room >= widest;
    this.box.classList.toggle("results-stick", stick);
  }

  /* Distance of a cell from the sheet's start edge: left, or right in right-to-left sheets. */
  _startOf(cell) {
    if (!cell) return 0;
    return this.rightToLeft ? this.box.clientWidth - cell.offsetLeft - cell.offsetWidth : cell.offsetLeft;
  }

  _textWidth(text) {
    return text.length < 2 ? 0 : this.pen.measureText(text).width;
  }

  /* Width of a heading in three lines at most, written smaller than texts. */
  _nameWidth(name) {
    const longest = Math.max(...name.split(/(?<=[\s_./:-])/).map((part) => this._textWidth(part)));
    return 0.9 * Math.max(longest, (1.2 * this._textWidth(name)) / 3);
  }

  /* Widen a column for a longer text at once; columns narrow only at the next layout. */
  widen(region, text) {
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    const width = Math.min(WIDEST, this._textWidth(text) / rem + 1.2 + (this.sheet.overlay.on ? BITS : 0));
    if (width <= this.widths[region]) return;
    const more = width - this.widths[region];
    this.widths[region] = width;
    this.colgroup.children[region + 2].style.width = `${width}rem`;
    const rest = Number.parseFloat(this.table.style.getPropertyValue("--w-rest"));
    this.table.style.setProperty("--w-rest", `${rest + more}rem`);
    this._makeRoom();
  }

  // --- visible rows ---------------------------------------------------------------------------------------------
  get rowHeight() {
    if (!this._height) {
      const some = this.rows.values().next().value;
      this._height = some?.getBoundingClientRect().height || 0;
    }
    return this._height || 32;
  }

  onScroll() {
    if (this.ticking) return;
    this.ticking = true;
    requestAnimationFrame(() => {
      this.ticking = false;
      this.render();
    });
  }

  window() {
    const { scrollTop, clientHeight } = this.box;
    const first = Math.max(0, Math.floor(scrollTop / this.rowHeight) - OVERSCAN);
    const shown = Math.ceil((clientHeight || 600) / this.rowHeight) + 2 * OVERSCAN;
    return [first, Math.min(this.doc.nRows - 1, first + shown)];
  }

  render(force = false) {
    this._height = 0;
    const [first, last] = this.window();
    if (!force && first === this.first && last === this.last && !this._activeIsMissing()) return;
    this.first = first;
    this.last = last;
    const active = this.sheet.selection.r;
    const visible = [];
    if (active >= 0 && active < first) visible.push(active);
    for (let r = first; r <= last; r += 1) visible.push(r);
    if (active > last && active < this.doc.nRows) visible.push(active);
    const keep = new Set(visible);
    for (const [r, tr] of this.rows) {
      if (keep.has(r)) continue;
      tr.remove();
      this.rows.delete(r);
    }
    for (const pad of this.pads) pad.remove();
    this.pads = [];
    let next = this.body.firstChild;
    let before = -1;
    for (const r of visible) {
      if (r > before + 1) this.body.insertBefore(this._pad(r - before - 1), next);
      let tr = this.rows.get(r);
      if (tr) next = tr.nextSibling;
      else {
        tr = this._row(r);
        this.rows.set(r, tr);
        this.body.insertBefore(tr, next);
      }
      before = r;
    }
    if (before < this.doc.nRows - 1) this.body.append(this._pad(this.doc.nRows - 1 - before));
  }

  _activeIsMissing() {
    const { r } = this.sheet.selection;
    return r >= 0 && r < this.doc.nRows && !this.rows.has(r);
  }

  _pad(rows) {
    const tr = h("tr", { class: "grid-pad", "aria-hidden": "true" }, h("td", { colSpan: this.nColumns + 2 }));
    tr.style.height = `${rows * this.rowHeight}px`;
    this.pads.push(tr);
    return tr;
  }

  _row(r) {
    const tr = h("tr", { "aria-rowindex": r + 2 });
    for (let c = ITEM; c < this.nColumns; c += 1) {
      const cell = c < 0 ? h("th", { scope: "row" }) : h("td");
      cell.setAttribute("aria-colindex", c + 3);
      cell.grid = { r, c };
      this._stick(cell, c);
      tr.append(cell);
    }
    this._paintRow(tr, r);
    return tr;
  }

  _paintRow(tr, r) {
    tr.className = this.doc.beginsItem(r) ? "is-first" : "";
    for (const cell of tr.cells) paintCell(cell, this.sheet, this.extras);
  }

  // --- painting ----------------------------------------------------------------------------------------------------
  cellAt(r, c) {
    const row = r === HEAD ? this.headRow : this.rows.get(r);
    return row?.cells[c + 2] ?? null;
  }

  repaint(r) {
    const tr = this.rows.get(r);
    if (tr) this._paintRow(tr, r);
  }

  repaintItem(item) {
    for (const condition of this.doc.conditions) this.repaint(this.doc.rowOf(item, condition));
  }

  repaintAll() {
    for (const [r, tr] of this.rows) this._paintRow(tr, r);
    for (const th of this.headRow.cells) paintHead(th, this.sheet, th.grid.c, this.extras);
  }

  /* Move the input to the active cell and paint the selection. */
  place(focus = false) {
    const { selection, doc } = this.sheet;
    if (this._activeIsMissing()) this.render();
    const cell = this.cellAt(selection.r, selection.c) ?? this.cellAt(HEAD, Math.min(selection.c, this.nColumns - 1));
    this.holding = true;
    if (cell && this.input.parentNode !== cell) {
      const old = this.input.parentNode;
      cell.append(this.input);
      old?.classList?.remove("is-active");
    }
    cell?.classList.add("is-active");
    this.input.readOnly =
      selection.c >= doc.regions.length || (selection.r === HEAD && selection.c < 0) || !!this.sheet.locked;
    this.input.value = this.valueAt(selection.r, selection.c);
    this.input.setAttribute("aria-label", cellLabel(this.sheet, selection.r, selection.c, this.extras));
    if (focus) {
      this.input.focus({ preventScroll: true });
      this.input.select();
    }
    this.holding = false;
    this._paintSelection();
    this.onPlace();
  }

  valueAt(r, c) {
    const { doc } = this;
    if (r === HEAD) return c >= 0 && c < doc.regions.length ? doc.regions[c] : "";
    if (r >= doc.nRows) return "";
    const { item, condition } = doc.place(r);
    if (c === ITEM) return String(item);
    if (c === CONDITION) return condition;
    if (c < doc.regions.length) return doc.cell(item, condition, c + 1) ?? "";
    return this.cellAt(r, c)?.querySelector("[data-read]")?.textContent ?? "";
  }

  _paintSelection() {
    const { selection, doc } = this.sheet;
    const rect =
      selection.isRange || selection.r === HEAD || selection.c < 0
        ? selection.rect(doc.nRows, doc.regions.length)
        : null;
    this.box.classList.toggle("has-range", Boolean(rect && selection.isRange));
    for (const [r, tr] of this.rows) {
      const inside = rect && r >= rect.top && r <= rect.bottom;
      for (const cell of tr.cells) {
        const { c } = cell.grid;
        const chosen = (inside && c >= rect.left && c <= rect.right) || (r === selection.r && c === selection.c);
        const selected = Boolean(inside && chosen && selection.isRange && c >= 0);
        cell.classList.toggle("is-selected", selected);
        if (selected) cell.dataset.edges = edgesOf(rect, r, c, this.rightToLeft);
        else delete cell.dataset.edges;
        if (chosen) cell.setAttribute("aria-selected", "true");
        else cell.removeAttribute("aria-selected");
      }
    }
  }

  // --- movement ------------------------------------------------------------------------------------------------
  get hasFocus() {
    return document.activeElement === this.input;
  }

  reveal(r, c) {
    if (r >= 0) {
      const head = this.headRow.getBoundingClientRect().height;
      const top = r * this.rowHeight;
      const { scrollTop, clientHeight } = this.box;
      if (top < scrollTop) this.box.scrollTop = top;
      else if (top + this.rowHeight + head > scrollTop + clientHeight) {
        this.box.scrollTop = top + this.rowHeight + head - clientHeight + 2;
      }
      this.render();
    }
    const cell = this.cellAt(r, c);
    if (!cell) return;
    const loose = this.box.classList.contains("conditions-loose");
    if (c < 0) {
      if (loose && c > ITEM) this.box.scrollLeft = 0;
      return;
    }
    const last = this.headRow.cells[loose ? 0 : 1].getBoundingClientRect();
    const box = this.box.getBoundingClientRect();
    const stuck = this.rightToLeft ? box.right - last.left : last.right - box.left;
    const sign = this.rightToLeft ? -1 : 1; // right-to-left sheets scroll to negative offsets
    const scrolled = sign * this.box.scrollLeft;
    const left = this._startOf(cell);
    if (left - stuck < scrolled) this.box.scrollLeft = sign * Math.max(0, left - stuck);
    else {
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
      const results = c < this.doc.regions.length && this.box.classList.contains("results-stick");
      const room = this.box.clientWidth - (results ? this._resultsWidth() * rem : 0);
      if (left + cell.offsetWidth > scrolled + room) this.box.scrollLeft = sign * (left + cell.offsetWidth - room + 2);
    }
  }

  go(r, c, { extend = false, focus = true } = {}) {
    this.sheet.selection.to(r, c, extend);
    this.reveal(r, c);
    this.place(focus);
  }

  get pageRows() {
    return Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight) - 2);
  }
}
