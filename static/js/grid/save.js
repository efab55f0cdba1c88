/* The queue of edits on their way to the server. One PATCH at a time; what fails is sent again with the same ids.

   When somebody else wrote meanwhile, edits that wait were made on a draft that the server no longer has. They are sent
   with the version they were made on and with all edits since (`trail`), so that the server can carry them over; then
   the draft is read anew. */

import { call } from "./api.js";

const DEBOUNCE = 500;
const LONGEST_WAIT = 1000;
const PER_PATCH = 200;
const PAUSES = [1000, 2000, 4000, 8000, 15_000];

const newId = () => crypto.randomUUID?.() ?? "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (c) => (c ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (c / 4)))).toString(16));

/* The server tells the conflicts of an edit again when the edit is sent again. */
export function unrepeated(conflicts) {
  const seen = new Set();
  return conflicts.filter(({ edit, op, what, item, condition, region, message }) => {
    const key = JSON.stringify([edit, op, what, item, condition, region, item === undefined ? message : ""]);
    return edit === undefined || (!seen.has(key) && seen.add(key));
  });
}

export class SaveQueue {
  /* hooks: onState(state, detail); onDiverged() reads the draft anew and calls rebased(); send(body) for tests */
  constructor({ url, version, store, onState = () => {}, onDiverged = async () => {}, send = null }) {
    this.url = url;
    this.version = version;
    this.store = store;
    this.onState = onState;
    this.onDiverged = onDiverged;
    this.send = send ?? ((body) => call("PATCH", url, body));
    this.pending = [];
    this.flying = [];
    this.trail = [];
    this.conflicts = [];
    this.fails = 0;
    this.state = "saved";
    this.timer = null;
    this.dueAt = 0;
  }

  get unsaved() {
    return this.pending.length + this.flying.length;
  }

  push(ops) {
    const edit = { id: newId(), ops };
    this.pending.push(edit);
    this.keep();
    if (this.state === "saved") this.setState("saving");
    this.soon();
    return edit.id;
  }

  keep() {
    this.store?.keep({ version: this.version, edits: this.unsaved ? [...this.trail, ...this.flying, ...this.pending] : [], conflicts: this.conflicts });
  }

  setState(state, detail = "") {
    this.state = state;
    this.onState(state, detail, this);
  }

  /* At most a second after the first edit that waits, however fast one types. */
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
      answer = await this.send({ version: this.version, edits: [...this.trail, ...this.flying] });
    } catch (error) {
      this.pending = [...this.flying, ...this.pending];
      this.flying = [];
      this.keep();
      this.failed(error);
      return;
    }
    this.fails = 0;
    this.conflicts = unrepeated([...this.conflicts, ...(answer.data.conflicts ?? [])]);
    const alone = answer.status === 200 && !this.trail.length && answer.data.version === this.version + this.flying.length;
    if (!alone) this.trail.push(...this.flying);
    else this.version = answer.data.version;
    this.flying = [];
    this.keep();
    if (this.pending.length) {
      this.setState("saving");
      if (alone) this.soon();
      else await this.flush();
    } else if (alone) this.settle();
    else await this.catchUp();
  }

  async catchUp() {
    try {
      await this.onDiverged();
    } catch (error) {
      this.failed(error);
    }
  }

  /* The draft was read anew, and `pending` are the edits that still wait, as they are to be done on it. */
  rebased(version, pending = []) {
    this.version = version;
    this.trail = [];
    this.pending = pending;
    this.keep();
    if (pending.length) this.soon();
    else this.settle();
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
    if (this.trail.length && !this.unsaved) this.catchUp();
    else this.flush();
  }

  /* The network is back, or the person asks. */
  retry() {
    this.fails = 0;
    if (this.state === "offline" || this.state === "refused") this.state = "saving";
    this.again();
  }

  /* Resolves when everything is saved, or false when it cannot be now. */
  async drain(limit = 8000) {
    const end = Date.now() + limit;
    while (this.unsaved && Date.now() < end && this.state !== "refused" && this.state !== "conflict") {
      await this.flush();
      if (this.unsaved) await new Promise((done) => setTimeout(done, 60));
    }
    return this.unsaved === 0 && !this.conflicts.length;
  }
}
