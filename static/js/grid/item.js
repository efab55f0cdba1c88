/* The current item: a row per condition and a column per region, with tokens while the preview is on. It stays in sight while
   predictions are edited, where the sheet cannot. */

import { breakable, condClass, h } from "./dom.js";
import { shownTokens } from "./scores.js";

export class ItemPanel {
  constructor(root, editor) {
    this.root = root;
    this.editor = editor;
    this.box = root.querySelector("[data-item-table]");
    if (editor.view.rightToLeft) this.box.dir = "rtl";
    editor.view.onPlace = () => this.later();
    new ResizeObserver(() => this.later()).observe(root); // it may have been hidden
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const { doc, selection, sheet } = this.editor;
    this.root.classList.toggle("has-tokens", sheet.overlay.on);
    this.root.hidden = doc.nRows === 0;
    if (!this.root.checkVisibility()) return;
    const { item } = doc.place(Math.min(Math.max(0, selection.r), doc.nRows - 1));
    this.root.querySelector("[data-item-title]").textContent = `Item ${item}`;
    const head = h(
      "tr",
      {},
      h("th", { scope: "col", text: "Condition" }),
      ...doc.regions.map((name, k) => this._head(name, k + 1)),
    );
    this.box.replaceChildren(
      h(
        "table",
        { class: "regions lens sticky-col" },
        h("thead", {}, head),
        h("tbody", {}, ...doc.conditions.map((condition, k) => this._row(item, condition, k))),
      ),
    );
    if (selection.c >= 0 && selection.c < doc.regions.length) this._reveal(head, selection.c + 1);
  }

  /* Scroll sideways to a region. */
  _reveal(head, region) {
    const at = head.cells[region].getBoundingClientRect();
    const box = this.box.getBoundingClientRect();
    const stuck = getComputedStyle(head.cells[0]).position === "sticky" ? head.cells[0].offsetWidth : 0;
    const [left, right] = this.box.dir === "rtl" ? [box.left, box.right - stuck] : [box.left + stuck, box.right];
    if (at.left < left) this.box.scrollLeft += at.left - left;
    else if (at.right > right) this.box.scrollLeft += Math.min(at.right - right, at.left - left);
  }

  _head(name, region) {
    const compared = this.editor.sheet.critical.regions.has(region);
    return h(
      "th",
      { scope: "col", class: `region${compared ? " is-critical" : ""}` },
      h("span", { class: "no", text: region }),
      h("bdi", {}, ...breakable(name)),
      compared ? h("span", { class: "visually-hidden", text: " (compared by a prediction)" }) : null,
    );
  }

  _row(item, condition, place) {
    const name = h("span", { class: `cond ${condClass(place)}` }, h("bdi", {}, ...breakable(condition)));
    const cells = this.editor.doc.regions.map((_, k) => this._cell(item, condition, k + 1));
    return h("tr", {}, h("th", { scope: "row" }, name), ...cells);
  }

  _cell(item, condition, region) {
    const { doc, sheet } = this.editor;
    const { overlay, critical } = sheet;
    const text = doc.cell(item, condition, region);
    const score = text ? overlay.regionOf(item, condition, region) : undefined;
    const words = h("span", { class: text ? "" : "quiet", dir: "auto", text: text === "" ? "∅" : (text ?? "…") });
    const baseline = overlay.baselineOf(item);
    const look = baseline ? score?.look : ""; // bits per token are the colours of the tokens
    const value = score ? h("span", { class: `value ${look}`, text: score.value }) : null;
    const tokens = score ? shownTokens(overlay.bitsOf(item, condition), baseline, region).map(drawn) : [];
    return h(
      "td",
      { class: critical.cells.get(condition)?.has(region) ? "is-critical" : "" },
      h("p", { class: "text" }, words, value),
      tokens.length ? h("div", { class: "tokens", dir: "auto" }, ...tokens) : null,
    );
  }
}

/* A token as on the pages of runs. Spaces that belong to it are shown. */
function drawn({ token, value, look }) {
  const parts = (token.text || token.token).split(/([ \t\n\u00a0Ġ▁]+)/).filter(Boolean);
  const form = parts.map((part) =>
    /[ \t\n\u00a0Ġ▁]/.test(part) ? h("span", { class: "blank", text: "␣".repeat(part.length) }) : part,
  );
  const state = `${value === "–" ? "is-unscored" : look}${token.straddles ? " is-straddling" : ""}`;
  return h(
    "span",
    { class: `token ${state}`, title: titleOf(token) },
    h(
      "span",
      { class: "form" },
      h("span", { class: "letters" }, ...form),
      token.part ? h("span", { class: "part", text: token.part }) : null,
    ),
    h("span", { class: "bits", text: value }),
  );
}

const titleOf = (token) =>
  [token.token, token.part && `part ${token.part} of a character`, token.straddles && "crosses a region border"]
    .filter(Boolean)
    .join(" · ");
