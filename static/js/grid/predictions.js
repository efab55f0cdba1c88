/* Prediction cards. All typing in a field between focus and blur is one undo step. */

import { call } from "./api.js";
import { builder, joined } from "./builder.js";
import { setPredictions } from "./commands.js";
import { Completer } from "./complete.js";
import { LOST } from "./formula.js";
import { announce, debounce, h, icon } from "./dom.js";
import { copyPredictions, tidy } from "./model.js";

const CHECK = 250;
const COMMIT = 350;
const GROWS = CSS.supports("field-sizing", "content");
let visits = 0;

export class PredictionsPanel {
  constructor(list, editor, { url }) {
    this.list = list;
    this.editor = editor;
    this.url = url;
    this.cards = [];
    this.serial = 0;
    this.answers = new Map();
    this.commits = [];
  }

  /* Commit the current contents of all fields. */
  commit() {
    for (const commit of this.commits) commit();
  }

  get doc() {
    return this.editor.doc;
  }

  change(label, make, visit = null) {
    const next = copyPredictions(this.doc.predictions);
    make(next);
    return this.editor.perform(setPredictions(this.doc, next, label), null, { visit, quiet: visit !== null });
  }

  add() {
    const done = this.change("added a prediction", (list) => list.push({ name: "", description: "", formula: "" }));
    if (done) this.cards.at(-1)?.formula.focus();
  }

  /* Update the cards after a change of the document, without moving the caret. */
  sync() {
    const { predictions } = this.doc;
    while (this.cards.length > predictions.length) this.cards.pop().root.remove();
    while (this.cards.length < predictions.length) {
      const card = this.card();
      this.cards.push(card);
      this.list.append(card.root);
    }
    predictions.forEach((prediction, k) => {
      const card = this.cards[k];
      card.root.setAttribute("aria-label", `Prediction ${k + 1}`);
      card.number.textContent = `P${k + 1}`;
      card.name.placeholder = `Prediction ${k + 1}`;
      card.up.disabled = k === 0;
      card.down.disabled = k === predictions.length - 1;
      for (const field of ["name", "description", "formula"]) {
        // keep a trailing space while typing
        const typed = document.activeElement === card[field] && tidy(card[field].value) === tidy(prediction[field]);
        if (card[field].value !== prediction[field] && !typed) card[field].value = prediction[field];
      }
      this.check(card);
    });
    this.list.hidden = predictions.length === 0;
  }

  card() {
    this.serial += 1;
    const id = (part) => `prediction-${this.serial}-${part}`;
    const index = () => this.cards.indexOf(card);
    const button = (label, drawing, action) =>
      h(
        "button",
        { type: "button", class: "btn btn-quiet btn-s", "aria-label": label, title: label, onclick: action },
        icon(drawing),
      );
    const card = {
      number: h("span", { class: "prediction-no", "aria-hidden": "true" }),
      name: h("input", {
        id: id("name"),
        class: "form-control",
        type: "text",
        maxLength: 200,
        "aria-label": "Name",
        autocomplete: "off",
      }),
      description: h("textarea", {
        id: id("description"),
        class: "form-control prediction-about",
        rows: 1,
        placeholder: "Why this should hold",
        "aria-label": "Description",
      }),
      formula: h("textarea", {
        id: id("formula"),
        class: "form-control formula-field",
        rows: 1,
        spellcheck: false,
        "aria-label": "Formula",
        "aria-describedby": id("said"),
        placeholder: "(2;%condition%) > (2;%other%)",
      }),
      back: h("div", { class: "formula-back", "aria-hidden": "true" }),
      said: h("div", { class: "prediction-said", id: id("said") }),
      options: h("ul", { class: "formula-options", hidden: true }),
      tally: h("p", { class: "prediction-tally note", hidden: true }),
      up: button("Move up", "up", () => this.move(index(), -1)),
      down: button("Move down", "down", () => this.move(index(), 1)),
    };
    const remove = button("Delete this prediction", "cross", () => this.remove(index()));
    card.root = h(
      "li",
      { class: "prediction" },
      h(
        "div",
        { class: "prediction-head" },
        card.number,
        card.name,
        h("span", { class: "btn-row" }, card.up, card.down, remove),
      ),
      h("div", { class: "formula-box" }, card.back, card.formula, card.options),
      card.said,
      card.tally,
      card.description,
      builder(
        () => this.doc,
        (part) => this.use(index(), part),
        this.serial,
      ),
    );
    new Completer(card.formula, card.options, () => this.doc);
    for (const field of ["name", "description", "formula"]) this.watch(card, field, index);
    card.formula.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing && !event.defaultPrevented) event.preventDefault();
    });
    card.checkLater = debounce(CHECK, () => this.ask(card));
    return card;
  }

  watch(card, field, index) {
    const input = card[field];
    let visit = null;
    const commit = () => {
      const k = index();
      if (k < 0 || this.doc.predictions[k]?.[field] === input.value) return;
      if (!this.editor.mayEdit()) return;
      this.change(`prediction ${k + 1}: ${field}`, (list) => (list[k][field] = input.value), visit);
    };
    this.commits.push(commit);
    const later = debounce(COMMIT, commit);
    input.addEventListener("focus", () => {
      visits += 1;
      visit = `${field}-${visits}`;
    });
    input.addEventListener("input", (event) => {
      if (field === "formula") this.check(card);
      if (!event.isComposing) later();
    });
    input.addEventListener("blur", () => {
      later.cancel();
      commit();
    });
  }

  move(k, by) {
    const to = k + by;
    const done = this.change(`prediction ${k + 1} moved ${by < 0 ? "up" : "down"}`, (list) =>
      list.splice(to, 0, ...list.splice(k, 1)),
    );
    if (!done) return;
    const card = this.cards[to];
    const button = by < 0 ? card.up : card.down;
    (button.disabled ? (by < 0 ? card.down : card.up) : button).focus();
  }

  remove(k) {
    if (!this.change(`deleted prediction ${k + 1}`, (list) => list.splice(k, 1))) return;
    (this.cards[Math.min(k, this.cards.length - 1)]?.name ?? document.querySelector("[data-add-prediction]"))?.focus();
  }

  use(k, part) {
    this.change(`prediction ${k + 1}: comparison added`, (list) => (list[k].formula = joined(list[k].formula, part)));
    this.cards[k].formula.focus();
  }

  // --- check of a formula by the server --------------------------------------------------------------------
  check(card) {
    const key = this.key(card);
    if (card.checked === key) return;
    const known = this.answers.get(key);
    if (known) this.show(card, known, key);
    else {
      if (!card.formula.value.trim()) {
        this.show(card, { ok: false, errors: [], prose: "", chance: null, empty: true }, key);
        return;
      }
      this.underline(card, []);
      card.checkLater();
    }
  }

  key(card) {
    return JSON.stringify([card.formula.value, this.doc.regions, this.doc.conditions]);
  }

  async ask(card) {
    const key = this.key(card);
    card.controller?.abort();
    card.controller = new AbortController();
    const { regions, conditions } = this.doc;
    try {
      const { data } = await call(
        "POST",
        this.url,
        { formula: card.formula.value, regions, conditions },
        { signal: card.controller.signal },
      );
      this.answers.set(key, data);
      if (this.answers.size > 500) this.answers.delete(this.answers.keys().next().value);
      if (this.key(card) === key) this.show(card, data, key);
    } catch (error) {
      if (error.name !== "AbortError")
        card.said.replaceChildren(h("p", { class: "note", text: "Not checked: no connection to the server." }));
    }
  }

  show(card, answer, key) {
    const before = card.checked;
    card.checked = key;
    card.formula.toggleAttribute("aria-invalid", false);
    card.formula.classList.toggle("is-invalid", !answer.ok && !answer.empty);
    if (!answer.ok && !answer.empty) card.formula.setAttribute("aria-invalid", "true");
    this.underline(card, answer.errors ?? []);
    if (answer.empty) {
      card.said.replaceChildren(
        h("p", { class: "note", text: "Type a region's name, or ( and a number, and choose." }),
      );
      return;
    }
    if (answer.ok) {
      const parts = [];
      if (answer.prose) parts.push(h("p", { class: "gloss", text: `In words: ${answer.prose}` }));
      for (const warning of answer.warnings ?? [])
        parts.push(h("p", { class: "note prediction-warning", text: warning }));
      const chance = chanceText(answer.chance);
      if (chance) parts.push(h("p", { class: "note", text: `Chance ${chance}` }));
      card.said.replaceChildren(...parts);
      return;
    }
    card.said.replaceChildren(...(answer.errors ?? []).map((error) => this.complaint(card, error)));
    if (before !== undefined && document.activeElement === card.formula && answer.errors?.[0])
      announce(answer.errors[0].message);
  }

  complaint(card, { message, position, hint }) {
    const lost = card.formula.value.includes(`(${LOST};`)
      ? "The ? replaces a deleted region. Choose another region, or shorten the formula."
      : hint;
    return h(
      "p",
      { class: "invalid-feedback" },
      h("strong", { text: `Column ${(position ?? 0) + 1}: ${message}` }),
      lost ? h("span", { text: ` ${lost}` }) : null,
    );
  }

  /* Mark errors in a transparent copy of the text below the field; only the wavy underline is visible. */
  underline(card, errors) {
    const letters = Array.from(card.formula.value);
    const parts = [];
    let at = 0;
    for (const { position = 0, length = 1 } of [...errors].sort((a, b) => a.position - b.position)) {
      const start = Math.max(at, Math.min(position, letters.length));
      const end = Math.max(start + 1, start + (length || 1));
      parts.push(
        letters.slice(at, start).join(""),
        h("span", { class: "formula-wrong", text: letters.slice(start, end).join("") || " " }),
      );
      at = end;
    }
    parts.push(letters.slice(at).join(""), "\u200b");
    card.back.replaceChildren(...parts);
    if (!GROWS) {
      card.formula.style.height = "auto";
      card.formula.style.height = `${card.formula.scrollHeight + 2}px`;
    }
  }

  tally(counts) {
    this.cards.forEach((card, k) => {
      const count = counts?.[k];
      card.tally.hidden = !count?.n || count.none === count.n;
      if (card.tally.hidden) return;
      const parts = [`${count.held} of ${count.n} items hold`];
      if (count.tied) parts.push(`${count.tied} tied`);
      if (count.none) parts.push(`${count.none} not evaluable`);
      if (count.close) parts.push(`${count.close} too close to call (≈)`);
      card.tally.textContent = parts.join(" · ");
    });
  }
}

export function chanceText(chance) {
  const value = typeof chance === "object" && chance !== null ? chance.value : chance;
  if (!Number.isFinite(value)) return "";
  const text = `${(100 * value).toFixed(1).replace(/\.0$/, "")}%`;
  const error = chance?.standard_error;
  const scale = Number.isFinite(chance?.assumed_bits)
    ? `, assuming a mean surprisal of ${chance.assumed_bits} bits`
    : "";
  const regions = Number.isFinite(chance?.assumed_regions)
    ? `, with ${chance.assumed_regions} regions per sentence`
    : "";
  return chance?.exact === false
    ? `${text} (simulated${Number.isFinite(error) ? `, ± ${(100 * error).toFixed(2)}` : ""}${scale}${regions})`
    : text;
}
