/* Live preview of surprisals. Changed items are scored first, the rest in the background; a newer change aborts the pending request.
   Editing never waits for it. */

import { call } from "./api.js";
import { debounce, isolated, OUTCOMES } from "./dom.js";
import { shownRegion } from "./scores.js";

const DEBOUNCE = 80;
const ROWS_AT_ONCE = 96;
const WORDS_NAMED = 5;
const NAMES = OUTCOMES.map(([, , name]) => name); // by outcome code

/* The preview uses the first of several metrics, and the sum for "all", as a run does by default. */
const firstOf = (metric) => (metric === "all" ? "sum" : [metric].flat()[0]);

export class Preview {
  /* hooks: onResult(items), onState(text, look), visibleItems() */
  constructor({ url, getDoc, onResult, onState, visibleItems = () => [] }) {
    this.url = url;
    this.getDoc = getDoc;
    this.onResult = onResult;
    this.onState = onState;
    this.visibleItems = visibleItems;
    this.on = false;
    this.model = "";
    this.scores = new Map(); // item -> condition -> {region_surprisals, surprisal, tokens}
    this.baseline = ""; // condition from which differences are shown; empty: bits are shown
    this.results = new Map(); // item -> [{code, margin, close}]
    this.failures = new Map(); // item -> condition -> why there are no bits
    this.words = new Map(); // item -> condition -> {known, unknown}, lists of words
    this.dirty = new Set(); // changed by the user; scored first
    this.stale = new Set(); // all other unscored items
    this.controller = null;
    this.touched = 0;
    this.later = debounce(DEBOUNCE, () => this.ask());
  }

  start(model) {
    this.on = true;
    this.model = model;
    this.everything();
  }

  stop() {
    this.on = false;
    this.controller?.abort();
    this.later.cancel();
    this.onState("", "");
  }

  /* Score all items again, after a change of model, formulas or structure. */
  everything({ forget = true } = {}) {
    if (forget) {
      for (const known of [this.scores, this.results, this.failures, this.words]) known.clear();
    }
    this.dirty.clear();
    this.stale = new Set(this.getDoc().items);
    if (!this.on) return;
    this.controller?.abort();
    this.later();
  }

  changed(items) {
    if (!this.on) return;
    for (const item of items) {
      this.dirty.add(item);
      this.stale.delete(item);
    }
    if (this.flying?.some((item) => this.dirty.has(item)) || !this.urgent) this.controller?.abort();
    // Send the first change after a pause at once, a burst of changes when it ends.
    const paused = performance.now() - this.touched > DEBOUNCE;
    this.touched = performance.now();
    if (paused) setTimeout(() => this.ask(), 0);
    else this.later();
  }

  bitsOf(item, condition) {
    return this.scores.get(item)?.get(condition);
  }

  baselineOf(item) {
    return this.baseline ? this.bitsOf(item, this.baseline) : undefined;
  }

  /* Number and colour of a region; undefined while the preview is off, or if the region or its baseline is not scored. */
  regionOf(item, condition, region) {
    const row = this.bitsOf(item, condition);
    const baseline = this.baselineOf(item);
    if (!this.on || !row || row.region_surprisals[region - 1] === undefined || (this.baseline && !baseline))
      return undefined;
    return shownRegion(row, baseline, region);
  }

  outcomeOf(item, prediction) {
    return this.results.get(item)?.[prediction];
  }

  _next(doc) {
    const most = Math.max(1, Math.floor(ROWS_AT_ONCE / Math.max(1, doc.conditions.length)));
    const known = new Set(doc.items);
    for (const set of [this.dirty, this.stale]) for (const item of set) if (!known.has(item)) set.delete(item);
    this.urgent = this.dirty.size > 0;
    const inSight = this.visibleItems().filter((item) => this.stale.has(item));
    return [...new Set([...this.dirty, ...inSight, ...this.stale])].slice(
      0,
      this.urgent ? Math.max(1, Math.min(most, this.dirty.size)) : most,
    );
  }

  async ask() {
    const doc = this.getDoc();
    if (!this.on || !doc.isLoaded) return;
    const items = this._next(doc);
    if (!items.length) {
      this.onState(this.results.size ? "" : "Nothing to score yet.", "");
      return;
    }
    this.flying = items;
    const controller = new AbortController();
    this.controller?.abort();
    this.controller = controller;
    const sentences = items.flatMap((item) =>
      doc.conditions.map((condition) => ({ item, condition, contents: [...doc.contents(item, condition)] })),
    );
    const body = {
      model: this.model,
      sentences,
      conditions: [...doc.conditions],
      regions: [...doc.regions],
      predictions: doc.predictions.map((prediction) => prediction.formula),
      metric: firstOf(doc.metric),
      join: doc.join,
      tokens: true,
    };
    this.onState("scoring …", "busy");
    try {
      const data = await this._wait(body, controller.signal);
      if (controller.signal.aborted || !this.on) return;
      this._take(data, items);
      this.flying = null;
      for (const item of items) {
        this.dirty.delete(item);
        this.stale.delete(item);
      }
      this.onResult(items);
      this._showProgress(doc);
      if (this.dirty.size || this.stale.size) setTimeout(() => this.ask(), 0);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.flying = null;
      const isQuota = error.status === 429; // a quota is exhausted; not an error
      this.onState(error.status ? error.message : "no response; you can keep typing", isQuota ? "" : "bad");
    }
  }

  /* Show progress, or the first sentence that could not be scored, with the reason. */
  _showProgress(doc) {
    const [first, ...others] = doc.items.flatMap((item) =>
      [...(this.failures.get(item) ?? [])].map(([condition, why]) => ({ item, condition, why })),
    );
    const rest = others.length ? `, and ${others.length} more` : "";
    if (first) this.onState(`item ${first.item}, ${first.condition}${rest}: ${first.why}`, "bad");
    else
      this.onState(
        (this.stale.size ? `${doc.items.length - this.stale.size} of ${doc.items.length} items` : "up to date") +
          this._coverage(doc),
        "",
      );
  }

  /* Vocabulary coverage over the distinct words of all items scored so far, as in lmgym/runs/coverage.py. */
  _coverage(doc) {
    const words = new Set();
    const unknown = new Set();
    for (const item of doc.items) {
      for (const coverage of this.words.get(item)?.values() ?? []) {
        for (const word of [...coverage.known, ...coverage.unknown]) words.add(word);
        for (const word of coverage.unknown) unknown.add(word);
      }
    }
    if (!unknown.size) return "";
    const share = Math.min(99, Math.round(100 * (1 - unknown.size / words.size)));
    const named =
      [...unknown].slice(0, WORDS_NAMED).map(isolated).join(", ") + (unknown.size > WORDS_NAMED ? " …" : "");
    return `; coverage ${share}%: ${unknown.size} ${unknown.size === 1 ? "word" : "words"} this model does not know (${named})`;
  }

  /* Poll until the scores are ready, at increasing intervals. */
  async _wait(body, signal) {
    const begun = performance.now();
    for (;;) {
      const { status, data } = await call("POST", this.url, body, { signal });
      if (status !== 202) return data;
      if (data.loading) {
        const last = data.load_seconds ? ` (${Math.max(1, Math.round(data.load_seconds))} s last time)` : "";
        this.onState(`the model is being loaded${last} …`, "busy");
      } else this.onState("scoring …", "busy");
      const waited = performance.now() - begun;
      await new Promise((done, fail) => {
        const timer = setTimeout(done, waited < 1000 ? 40 : waited < 5000 ? 250 : 1000);
        signal.addEventListener(
          "abort",
          () => {
            clearTimeout(timer);
            fail(new DOMException("stale", "AbortError"));
          },
          { once: true },
        );
      });
    }
  }

  _take(data, items) {
    for (const item of items) for (const known of [this.failures, this.words]) known.delete(item);
    for (const row of data.rows) {
      const {
        item,
        condition,
        region_surprisals,
        surprisal,
        tokens,
        failure,
        known_words: known,
        unknown_words: unknown,
      } = row;
      if (unknown) this.words.set(item, (this.words.get(item) ?? new Map()).set(condition, { known, unknown }));
      if (failure) this.failures.set(item, (this.failures.get(item) ?? new Map()).set(condition, failure));
      if (!this.scores.has(item)) this.scores.set(item, new Map());
      this.scores.get(item).set(condition, { region_surprisals, surprisal, tokens });
    }
    const n = this.getDoc().predictions.length;
    for (const item of items)
      this.results.set(
        item,
        Array.from({ length: n }, () => ({ code: NAMES.indexOf("not evaluable"), margin: null, close: false })),
      );
    for (const { item, prediction_number: number, outcome, margin, too_close: close } of data.outcomes) {
      this.results.get(item)[number - 1] = { code: NAMES.indexOf(outcome), margin, close };
    }
  }

  /* Mean bits of every region in every condition over the items scored so far. */
  means(doc) {
    return doc.conditions.map((name) => {
      const sums = doc.regions.map(() => 0);
      const counts = doc.regions.map(() => 0);
      for (const item of doc.items) {
        const row = this.bitsOf(item, name);
        row?.region_surprisals.forEach((bits, k) => {
          if (!Number.isFinite(bits) || !doc.cell(item, name, k + 1)) return; // skip empty regions
          sums[k] += bits;
          counts[k] += 1;
        });
      }
      return { name, means: sums.map((sum, k) => (counts[k] ? sum / counts[k] : null)) };
    });
  }

  /* Counts by prediction: items that held, failed, tied, were not evaluable, or were too close to call. */
  tally(doc) {
    return doc.predictions.map((_, p) => {
      const counts = [0, 0, 0, 0];
      let close = 0;
      for (const item of doc.items) {
        const outcome = this.outcomeOf(item, p);
        if (outcome) counts[outcome.code] += 1;
        if (outcome?.close) close += 1;
      }
      return {
        failed: counts[0],
        held: counts[1],
        tied: counts[2],
        none: counts[3],
        close,
        n: counts[0] + counts[1] + counts[2] + counts[3],
      };
    });
  }
}
