/* Queue of edits to be saved. One PATCH at a time; failed ones are repeated with the same ids.

   Edits are compare-and-set: they are applied if items, conditions and regions are still those of `version`, and a cell is
   written if it still has the text that the user saw. All other edits become conflicts, which keep the typed text, and the
   draft is loaded again. */

import { call } from "./api.js";
import { scoringOf } from "./model.js";

const DEBOUNCE = 500;
const LONGEST_WAIT = 1000;
const PER_PATCH = 200;
const PAUSES = [1000, 2000, 4000, 8000, 15_000];

export const newId = () =>
  crypto.randomUUID?.() ??
  "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (c) =>
    (Number(c) ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (Number(c) / 4)))).toString(16),
  );

/* Conflicts for a rejected edit: cells and predictions with the typed text, other ops for copying. `regions` are the names at the
   time of the edit, since numbers may have changed. */
export function undone({ ops, regions = [] }, { message = "", by = "" } = {}) {
  return ops.flatMap((op) => {
    if (op.op === "set_cells")
      return op.cells.map(([item, condition, region, old, yours]) => ({
        what: "cell",
        item,
        condition,
        region,
        name: regions[region - 1],
        old,
        yours,
        by,
      }));
    if (op.op === "set_predictions") return [{ what: "predictions", old: op.old, yours: op.predictions, by }];
    if (op.op === "set_scoring") return [{ what: "scoring", old: op.old, yours: scoringOf(op), by }];
    return [{ what: "edit", message, ops: [op], by }];
  });
}

/* Conflicts in the server's response to these edits. */
export function conflictsOf({ conflicts = [] }, edits) {
  return conflicts.flatMap((conflict) => {
    const edit = edits.find(({ id }) => id === conflict.edit);
    return conflict.what === "cell"
      ? [{ ...conflict, name: edit.regions?.[conflict.region - 1] }]
      : undone(edit, conflict);
  });
}

/* Keep the later of two conflicts about the same cell or field. */
export function together(conflicts) {
  const byPlace = new Map();
  for (const conflict of conflicts) {
    const place =
      conflict.what === "edit"
        ? conflict
        : JSON.stringify([conflict.what, conflict.item, conflict.condition, conflict.name ?? conflict.region]);
    byPlace.set(place, { ...conflict, old: byPlace.get(place)?.old ?? conflict.old });
  }
  return [...byPlace.values()];
}

export const bodyOf = (version, edits) => ({ version, edits: edits.map(({ id, ops }) => ({ id, ops })) });

export class SaveQueue {
  /**
   * @param {object} options
   * @param {string} options.url
   * @param {number} options.version
   * @param {any} options.store
   * @param {(state: string, detail: string) => void} [options.onState]
   * @param {() => Promise<void>} [options.onDiverged] reloads the draft and calls `caughtUp`
   */
  constructor({ url, version, store, onState = () => {}, onDiverged = async () => {} }) {
    this.url = url;
    this.version = version;
    this.store = store;
    this.onState = onState;
    this.onDiverged = onDiverged;
    this.pending = [];
    this.flying = [];
    this.behind = false; // the server has edits of others, or rejected ours
    this.refused = false;
    this.conflicts = [];
    this.fails = 0;
    this.state = "saved";
    this.timer = null;
    this.dueAt = 0;
  }

  get unsaved() {
    return this.pending.length + this.flying.length;
  }

  push(ops, regions) {
    const edit = { id: newId(), ops, regions: [...regions] };
    this.pending.push(edit);
    this.keep();
    if (this.state === "saved") this.setState("saving");
    this.soon();
    return edit.id;
  }

  keep() {
    this.store?.keep({ version: this.version, edits: [...this.flying, ...this.pending], conflicts: this.conflicts });
  }

  setState(state, detail = "") {
    this.state = state;
    this.onState(state, detail);
  }

  /* Save at most a second after the first waiting edit. */
  soon() {
    if (this.flying.length || this.state === "offline" || this.state === "refused") return;
    const now = Date.now();
    if (!this.timer) this.dueAt = now + LONGEST_WAIT;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), Math.max(0, Math.min(DEBOUNCE, this.dueAt - now)));
  }

  settle() {
    if (this.conflicts.length) this.setState("conflict");
    else this.setState(this.unsaved ? "saving" : "saved");
  }

  async flush() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.flying.length || !this.pending.length) return;
    this.flying = this.pending.splice(0, PER_PATCH);
    if (this.state !== "offline") this.setState("saving");
    let answer;
    try {
      answer = await call("PATCH", this.url, bodyOf(this.version, this.flying));
    } catch (error) {
      this.pending = [...this.flying, ...this.pending];
      this.flying = [];
      this.keep();
      this.failed(error);
      return;
    }
    this.fails = 0;
    this.take(answer.data);
    this.keep();
    if (this.pending.length) {
      this.setState("saving");
      this.soon();
    } else if (this.behind) await this.catchUp();
    else this.settle();
  }

  /* After a rejection the waiting edits are conflicts, too, since they build on the rejected ones. */
  take(data) {
    const sent = this.flying;
    this.flying = [];
    const conflicts = conflictsOf(data, sent);
    const refused = data.conflicts?.some((conflict) => conflict.what === "edit");
    if (refused) {
      conflicts.push(...this.pending.splice(0).flatMap((edit) => undone(edit)));
      this.refused = true;
    }
    if (conflicts.length || data.version !== this.version + sent.length) this.behind = true;
    if (!refused) this.version = data.version;
    this.conflicts = together([...this.conflicts, ...conflicts]);
  }

  async catchUp() {
    try {
      await this.onDiverged();
    } catch (error) {
      this.failed(error);
    }
  }

  /* The draft was loaded again and includes all sent edits. */
  caughtUp(version) {
    this.version = version;
    this.behind = this.refused = false;
    this.keep();
    this.settle();
  }

  failed(error) {
    const { status = 0, message } = error;
    if (status === 400 || status === 403 || status === 404 || status === 413 || status === 422) {
      this.setState("refused", message);
      return;
    }
    const pause = PAUSES[Math.min(this.fails, PAUSES.length - 1)];
    this.fails += 1;
    this.setState("offline", status === 401 ? "you are signed out: sign in again in another tab" : "");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.again(), pause);
  }

  again() {
    if (this.behind && !this.unsaved) this.catchUp();
    else this.flush();
  }

  /* Retry when the network is back or the user requests it. */
  retry() {
    this.fails = 0;
    if (this.state === "offline" || this.state === "refused") this.state = "saving";
    this.again();
  }

  /* Resolve to true once everything is saved, or to false if that is impossible now. */
  async drain(limit = 8000) {
    const end = Date.now() + limit;
    while (this.unsaved && Date.now() < end && this.state !== "refused" && this.state !== "conflict") {
      await this.flush();
      if (this.unsaved) await new Promise((done) => setTimeout(done, 60));
    }
    return this.unsaved === 0 && !this.conflicts.length;
  }
}
