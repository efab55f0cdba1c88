/* Panel of the factorial design: its table, its factors and the predictions it offers, as computed by the server
   (designs/explain/). */

import { call } from "./api.js";
import { addMissing, setFactors } from "./commands.js";
import { debounce, h } from "./dom.js";
import { predictionOf } from "./generated.js";

const ASK = 250;

const linesOf = (factors) => factors.map(({ name, levels }) => `${name}: ${levels.join(", ")}`).join("\n");

export class DesignPanel {
  constructor(root, editor, predictions, { url }) {
    this.editor = editor;
    this.predictions = predictions;
    this.url = url;
    this.find = (name) => root.querySelector(`[data-design-${name}]`);
    this.lines = this.find("lines");
    this.region = this.find("region");
    this.offers = new Map(); // select -> {name, offers}
    this.draft = []; // the factors of the form, as parsed by the server
    this.reading = Promise.resolve();
    this.requestedKey = "";
    this.askLater = debounce(ASK, () => this.ask());
    // not on "toggle", which fires later and could overwrite typed text
    this.find("edit")
      .querySelector("summary")
      .addEventListener("click", () => this.find("edit").open || this.open());
    this.lines.addEventListener("change", () => (this.reading = this.read()));
    // on blur the levels appear above the button, which would move away from the pointer
    this.find("form").addEventListener(
      "mousedown",
      (event) => event.target.closest("button") && event.preventDefault(),
    );
    this.find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.apply();
    });
    this.find("remove").addEventListener("click", () => this.set([], "removed the design"));
    this.find("complete").addEventListener("click", () => this.complete());
    this.region.addEventListener("change", () => {
      this.forget();
      this.ask();
    });
    this.find("offers").addEventListener("submit", (event) => {
      event.preventDefault();
      this.add();
    });
  }

  get doc() {
    return this.editor.doc;
  }

  /* Update after a change of the document. */
  sync() {
    const { factors, regions } = this.doc;
    this.find("none").hidden = factors.length > 0;
    this.find("remove").hidden = !factors.length;
    this.find("predict").hidden = !factors.length;
    this.find("shape").textContent = factors.map(({ levels }) => levels.length).join(" × ");
    this.table();
    const chosen = this.region.value;
    this.region.replaceChildren(
      ...regions.map((name, k) => h("option", { value: k + 1, text: `${k + 1} ${name}` })),
      h("option", { value: "*", text: "the whole sentence" }),
    );
    if ([...this.region.options].some((option) => option.value === chosen)) this.region.value = chosen;
    if (!factors.length) this.find("missing").hidden = true;
    else if (this.requestedKey !== this.key()) {
      this.forget();
      this.askLater();
    } else this.marks();
  }

  table() {
    const { factors, conditions } = this.doc;
    const box = this.find("table");
    box.hidden = !factors.length;
    if (!factors.length) {
      box.replaceChildren();
      return;
    }
    const cells = (name) =>
      factors.every((factor) => Object.hasOwn(factor.conditions, name))
        ? factors.map((factor) => h("td", { text: factor.conditions[name] }))
        : [h("td", { colSpan: factors.length, class: "quiet", text: "outside the design" })];
    box.replaceChildren(
      h(
        "table",
        { class: "data design-table" },
        h("caption", { class: "visually-hidden", text: "The level of each factor in every condition" }),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["Condition", ...factors.map(({ name }) => name)].map((text) => h("th", { scope: "col", text })),
          ),
        ),
        h("tbody", {}, ...conditions.map((name) => h("tr", {}, h("th", { scope: "row", text: name }), ...cells(name)))),
      ),
    );
  }

  // --- explanation by the server ---------------------------------------------------------------------------
  key() {
    const { factors, conditions, regions } = this.doc;
    return JSON.stringify([factors, conditions, regions, this.region.value]);
  }

  /* Errors in the factors are thrown, too. */
  async explain(more) {
    const { conditions, regions } = this.doc;
    const { data } = await call("POST", this.url, { conditions, regions, ...more });
    if (!data.ok) throw new Error(data.errors[0].message);
    return data;
  }

  async ask() {
    this.askLater.cancel();
    const key = this.key();
    if (!this.doc.factors.length) return;
    const region = this.region.value === "*" ? "*" : Number(this.region.value);
    try {
      const data = await this.explain({ factors: this.doc.factors, region });
      if (this.key() !== key) return;
      this.requestedKey = key;
      this.show(data);
    } catch (error) {
      this.find("effects").replaceChildren(
        h("p", { class: "note", text: `No predictions to offer: ${error.message}` }),
      );
    }
  }

  /* Formulas for another region must not be added while those for the chosen one are computed. */
  forget() {
    this.offers.clear();
    this.find("effects").replaceChildren();
  }

  show({ missing, effects }) {
    this.missing = missing;
    this.find("missing").hidden = !missing.length;
    this.find("missing-text").textContent =
      `No condition has ${missing.map(({ levels }) => levels.join(" × ")).join(", or ")}.`;
    this.forget();
    this.find("effects").append(...effects.map((effect, k) => this.offer(effect, k)));
    this.marks();
  }

  offer({ name, greater, less, reason }, k) {
    const id = `effect-${k}`;
    if (!greater) return h("p", { class: "note", text: `${name}: ${reason}` });
    const note = h("div", { class: "note", id: `${id}-said` });
    const offers = [greater, less];
    const show = () => {
      const offer = offers.find(({ formula }) => formula === select.value);
      note.replaceChildren(
        ...(offer ? [h("p", { text: offer.words }), h("p", { class: "formula-source", text: offer.formula })] : []),
      );
    };
    const select = h(
      "select",
      { id, class: "form-select", "aria-describedby": `${id}-said`, onchange: show },
      h("option", { value: "", text: "Not predicted" }),
      ...offers.map(({ direction, formula }) => h("option", { value: formula, text: direction })),
    );
    this.offers.set(select, { name, offers });
    return h("div", { class: "field" }, h("label", { for: id, text: name }), select, note);
  }

  /* Existing predictions are marked and cannot be added twice. */
  marks() {
    const existing = new Set(this.doc.predictions.map(({ formula }) => formula));
    for (const option of this.find("effects").querySelectorAll("option[value]:not([value=''])")) {
      option.disabled = existing.has(option.value);
    }
  }

  add() {
    const chosen = [...this.offers.keys()].filter((select) => select.value);
    if (!chosen.length) {
      this.editor.say("Choose a direction for at least one effect first.", "");
      return;
    }
    const region = this.region.value === "*" ? "whole sentence" : this.doc.regions[Number(this.region.value) - 1];
    const added = chosen.map((select) => {
      const { name, offers } = this.offers.get(select);
      const { words, formula } = offers.find((offer) => offer.formula === select.value);
      return predictionOf({ name, words, formula }, region);
    });
    const label = `added ${added.length} prediction${added.length === 1 ? "" : "s"}`;
    if (!this.predictions.change(label, (list) => list.push(...added))) return;
    for (const select of chosen) {
      select.value = "";
      select.dispatchEvent(new Event("change"));
    }
  }

  // --- changing it -----------------------------------------------------------------------------------------------
  open() {
    this.lines.value = linesOf(this.doc.factors);
    this.draft = this.doc.factors;
    this.levels();
    this.say("");
  }

  say(text) {
    const line = this.find("said");
    line.textContent = text;
    line.hidden = !text;
    this.lines.classList.toggle("is-invalid", Boolean(text));
    this.lines.toggleAttribute("aria-invalid", false);
    if (text) this.lines.setAttribute("aria-invalid", "true");
  }

  /* Conditions not named after the levels keep their assigned levels. */
  async read() {
    try {
      const data = await this.explain({ lines: this.lines.value });
      const before = new Map((this.draft ?? this.doc.factors).map((factor) => [factor.name, factor]));
      const known = data.factors.every(({ name }) => before.has(name));
      for (const name of known ? data.outside : []) {
        const levels = data.factors.map((factor) => before.get(factor.name).conditions[name]);
        const cell = JSON.stringify(levels);
        const taken = this.doc.conditions.some(
          (other) => JSON.stringify(data.factors.map((factor) => factor.conditions[other])) === cell,
        );
        if (taken || !data.factors.every((factor, k) => factor.levels.includes(levels[k]))) continue;
        data.factors.forEach((factor, k) => (factor.conditions[name] = levels[k]));
      }
      this.draft = data.factors;
      this.levels();
      this.say("");
    } catch (error) {
      this.draft = null;
      this.say(error.message);
    }
  }

  levels() {
    const select = (factor, condition, k) => {
      const label = `${factor.name} of ${condition}`;
      const made = h(
        "select",
        { class: "form-select", "aria-label": label },
        h("option", { value: "", text: "outside" }),
        ...factor.levels.map((level) => h("option", { value: level, text: level })),
      );
      made.value = factor.conditions[condition] ?? "";
      made.dataset.factor = k;
      made.dataset.condition = condition;
      return h("td", {}, made);
    };
    const factors = this.draft ?? [];
    this.find("levels").hidden = !factors.length;
    this.find("levels").replaceChildren(
      h(
        "table",
        { class: "data design-table" },
        h("caption", { class: "visually-hidden", text: "Levels of the conditions" }),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["Condition", ...factors.map(({ name }) => name)].map((text) => h("th", { scope: "col", text })),
          ),
        ),
        h(
          "tbody",
          {},
          ...this.doc.conditions.map((condition) =>
            h(
              "tr",
              {},
              h("th", { scope: "row", text: condition }),
              ...factors.map((factor, k) => select(factor, condition, k)),
            ),
          ),
        ),
      ),
    );
  }

  async apply() {
    if (document.activeElement === this.lines) this.reading = this.read();
    await this.reading;
    if (!this.draft) return;
    const factors = this.draft.map((factor) => ({ ...factor, conditions: {} }));
    for (const select of this.find("levels").querySelectorAll("select")) {
      if (select.value) factors[select.dataset.factor].conditions[select.dataset.condition] = select.value;
    }
    try {
      const data = await this.explain({ factors });
      this.set(data.factors, "changed the design");
    } catch (error) {
      this.say(error.message);
    }
  }

  set(factors, label) {
    this.editor.perform(setFactors(this.doc, factors, label));
    this.find("edit").open = false;
    this.find("edit").querySelector("summary").focus();
  }

  complete() {
    this.editor.perform(addMissing(this.doc, this.missing));
  }
}
