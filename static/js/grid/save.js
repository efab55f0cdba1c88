/* The queue of edits on their way to the server. One PATCH at a time; what fails is sent again with the same ids. */

import { call } from "./api.js";

const DEBOUNCE = 500;
const LONGEST_WAIT = 1000;
const PER_PATCH = 200;
const PAUSES = [1000, 2000, 4000, 8000, 15_000];

const newId = () => crypto.randomUUID?.() ?? "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (c) => (c ^ (crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (c / 4)))).toString(16));

export class SaveQueue {
  /* hooks: onState(state, detail), onConflict(answer, pending), send(body) for tests */
  constructor({ url, version, store, onState = () => {}, onConflict = async () => {}, send = null }) {
    this.url = url;
    this.version = version;
    this.store = store;
    this.onState = onState;
    this.onConflict = onConflict;
    this.send = send ?? ((body) => call("PATCH", url, body));
    this.pending = [];
    this.flying = [];
    this.conflicts = [];
    this.fails = 0;
    this.held = false;
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
    this.store?.keep({ version: this.version, edits: [...this.flying, ...this.pending], conflicts: this.conflicts });
  }

  setState(state, detail = "") {
    this.state = state;
    this.onState(state, detail, this);
  }

  /* At most a second after the first edit that waits, however fast one types. */
  soon() {
    if (this.held || this.flying.length || this.state === "offline" || this.state === "refused") return;
    const now = Date.now();
    if (!this.timer) this.dueAt = now + LONGEST_WAIT;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), Math.max(0, Math.min(DEBOUNCE, this.dueAt - now)));
  }

  hold() {
    this.held = true;
    clearTimeout(this.timer);
    this.timer = null;
  }

  release() {
    this.held = false;
    if (this.pending.length) this.soon();
    else this.settle();
  }

  settle() {
    if (this.conflicts.length) this.setState("conflict");
    else this.setState(this.unsaved ? "saving" : "saved");
  }

  async flush() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.held || this.flying.length || !this.pending.length) return;
    this.flying = this.pending.splice(0, PER_PATCH);
    if (this.state !== "offline") this.setState("saving");
    let answer;
    try {
      answer = await this.send({ version: this.version, edits: this.flying });
    } catch (error) {
      this.pending = [...this.flying, ...this.pending];
      this.flying = [];
      this.keep();
      this.failed(error);
      return;
    }
    this.fails = 0;
    if (answer.status === 409) {
      const sent = this.flying;
      this.hold();
      try {
        await this.onConflict(answer.data, sent);
      } catch (error) {
        // The draft could not be read anew. What was applied is not sent twice: the ids tell.
        this.held = false;
        this.pending = [...this.flying, ...this.pending];
        this.flying = [];
        this.keep();
        this.failed(error);
      }
      return;
    }
    this.version = answer.data.version;
    this.flying = [];
    this.keep();
    if (this.pending.length) {
      this.setState("saving");
      this.soon();
    } else this.settle();
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
    this.timer = setTimeout(() => this.flush(), pause);
  }

  /* The network is back, or the person asks. */
  retry() {
    this.fails = 0;
    if (this.state === "offline" || this.state === "refused") this.state = "saving";
    this.flush();
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
