/* What has not reached the server is kept in this browser, per suite, person and tab. A tab that is gone leaves its
   edits to the next one that opens the suite; a tab shows that it lives by a time stamp. */

const LIVES = 15_000;
const PREFIX = "lmgym-draft";
const CHOICE = "lmgym-preview-model";
const SIGNED_OUT = "lmgym-signed-out";

const keysOf = (storage, starts) =>
  Array.from({ length: storage.length }, (_, k) => storage.key(k)).filter((key) =>
    starts.some((one) => key.startsWith(one)),
  );

/* Suites with something of this person that has not reached the server. */
export function unsavedSuites(user, storage = window.localStorage) {
  const found = new Set();
  try {
    for (const key of keysOf(storage, [`${PREFIX}:${user}:`])) {
      const record = JSON.parse(storage.getItem(key) ?? "null");
      if (record?.edits?.length || record?.conflicts?.length) found.add(key.split(":")[2]);
    }
  } catch {
    /* storage is forbidden: nothing was kept */
  }
  return [...found];
}

/* Delete what is kept of this person in this browser, and let other tabs keep nothing more. */
export function forgetPerson(user, storage = window.localStorage) {
  try {
    const keys = keysOf(storage, [`${PREFIX}:${user}:`, `${CHOICE}:${user}:`]);
    for (const key of [...keys, `${CHOICE}:${user}`]) storage.removeItem(key);
    storage.setItem(SIGNED_OUT, user);
    storage.removeItem(SIGNED_OUT);
  } catch {
    /* storage is forbidden: nothing was kept */
  }
}

/* Keys of the models that this person looked at last: in this suite, anywhere. */
export const choiceKeys = (user, suite) => [`${CHOICE}:${user}:${suite}`, `${CHOICE}:${user}`];

export class LocalStore {
  constructor(suite, user, { storage = window.localStorage, session = window.sessionStorage, now = Date.now } = {}) {
    this.base = `${PREFIX}:${user}:${suite}:`;
    this.user = user;
    this.closed = false;
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

  /* Another tab signed this person out. */
  hear({ key, newValue }) {
    if (key === SIGNED_OUT && newValue === this.user) this.close();
  }

  /* Nothing is kept any more. */
  close() {
    this.closed = true;
  }

  keep({ version, edits, conflicts }) {
    if (this.closed) return;
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
