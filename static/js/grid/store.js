/* What has not reached the server is kept in this browser, per suite, person and tab. A tab that is gone leaves its
   edits to the next one that opens the suite; a tab shows that it lives by a time stamp. */

const LIVES = 15_000;
const PREFIX = "lmgym-draft";

export class LocalStore {
  constructor(suite, user, { storage = window.localStorage, session = window.sessionStorage, now = Date.now } = {}) {
    this.base = `${PREFIX}:${user}:${suite}:`;
    this.storage = storage;
    this.now = now;
    this.full = false;
    this.gone = false;
    this.taken = [];
    let tab = null;
    try {
      tab = session.getItem(PREFIX);
      if (!tab || this._lives(this._read(this.base + tab))) {
        tab = Math.random().toString(36).slice(2, 10);
        session.setItem(PREFIX, tab);
      }
    } catch {
      tab = "only";
    }
    this.key = this.base + tab;
  }

  _read(key) {
    try {
      return JSON.parse(this.storage.getItem(key) ?? "null");
    } catch {
      return null;
    }
  }

  _lives(record) {
    return Boolean(record && this.now() - (record.seen ?? 0) < LIVES);
  }

  /* What this tab and tabs that are gone left behind, oldest first: {records: [{version, edits, conflicts}]}. What
     others left belongs to this tab from now on. */
  recover() {
    const found = [];
    try {
      const keys = Array.from({ length: this.storage.length }, (_, k) => this.storage.key(k));
      for (const key of keys.filter((one) => one?.startsWith(this.base))) {
        const record = this._read(key);
        if (!record || (key !== this.key && this._lives(record))) continue;
        found.push(record);
        this.taken.push(key);
      }
    } catch {
      /* storage is forbidden: nothing was kept */
    }
    found.sort((a, b) => (a.kept ?? 0) - (b.kept ?? 0));
    return { records: found };
  }

  /* The server has what was recovered. */
  forget() {
    for (const key of this.taken) if (key !== this.key) this.storage.removeItem(key);
    this.taken = [];
  }

  keep({ version, edits, conflicts }) {
    try {
      if (!edits.length && !conflicts.length) this.storage.removeItem(this.key);
      else {
        const record = { version, edits, conflicts, kept: this.now(), seen: this.gone ? 0 : this.now() };
        this.storage.setItem(this.key, JSON.stringify(record));
      }
      this.full = false;
    } catch {
      this.full = true;
    }
  }

  _stamp(seen) {
    const record = this._read(this.key);
    if (!record) return;
    try {
      this.storage.setItem(this.key, JSON.stringify({ ...record, seen }));
    } catch {
      /* nothing to be done */
    }
  }

  beat() {
    this.gone = false;
    this._stamp(this.now());
  }

  leave() {
    this.gone = true;
    this._stamp(0);
  }
}
