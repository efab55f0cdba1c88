/* The active cell and the selected rectangle. Row -1 is the heading, column -2 the item, -1 the condition. */

export const HEAD = -1;
export const ITEM = -2;
export const CONDITION = -1;

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

export class Selection {
  constructor() {
    this.anchor = { r: 0, c: 0 };
    this.focus = { r: 0, c: 0 };
  }

  get r() {
    return this.focus.r;
  }

  get c() {
    return this.focus.c;
  }

  to(r, c, extend = false) {
    this.focus = { r, c };
    if (!extend || this.anchor.r === HEAD || this.anchor.c < 0) this.anchor = { r, c };
  }

  range(top, left, bottom, right) {
    this.anchor = { r: top, c: left };
    this.focus = { r: bottom, c: right };
  }

  get isRange() {
    return this.anchor.r !== this.focus.r || this.anchor.c !== this.focus.c;
  }

  /* The selected rectangle of texts. A heading selects its column, an item or condition cell its row. */
  rect(nRows, nRegions) {
    const top = Math.min(this.anchor.r, this.focus.r);
    const bottom = Math.max(this.anchor.r, this.focus.r);
    const left = Math.min(this.anchor.c, this.focus.c);
    const right = Math.max(this.anchor.c, this.focus.c);
    if (nRows === 0 || nRegions === 0) return null;
    if (top === HEAD && left < 0) return { top: 0, left: 0, bottom: nRows - 1, right: nRegions - 1 };
    if (top === HEAD) return { top: 0, left, bottom: nRows - 1, right: Math.min(right, nRegions - 1) };
    if (left < 0 && !(right >= 0)) return { top, left: 0, bottom, right: nRegions - 1 };
    if (left >= nRegions) return null;
    return { top, left: Math.max(0, left), bottom: Math.min(bottom, nRows - 1), right: Math.min(right, nRegions - 1) };
  }

  clampTo(nRows, nColumns) {
    for (const end of [this.anchor, this.focus]) {
      end.r = clamp(end.r, HEAD, nRows - 1);
      end.c = clamp(end.c, ITEM, nColumns - 1);
    }
  }

  snapshot() {
    return { anchor: { ...this.anchor }, focus: { ...this.focus } };
  }

  restore(saved) {
    if (!saved) return;
    this.anchor = { ...saved.anchor };
    this.focus = { ...saved.focus };
  }
}
