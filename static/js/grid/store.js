/* Unsaved edits in localStorage, per suite, user and tab. A tab refreshes a timestamp; edits of a tab that stopped doing so are
   taken over by the next tab that opens the suite. */

const LIVES = 15_000;
const PREFIX = "lmgym-draft";
const CHOICE = "lmgym-preview-model";
const SIGNED_OUT = "lmgym-signed-out";

const keysOf = (storage, starts) =>
  Array.from({ length: storage.length }, (_, k) => storage.key(k)).filter((key) =>
    starts.some((start) => key.startsWith(start)),
  );

/* Slugs of suites with unsaved edits of this user. */
export function unsavedSuites(user, storage = window.localStorage) {
  const slugs = new Set();
  try {
    for (const key of keysOf(storage, [`${PREFIX}:${user}:`])) {
      const record = JSON.parse(storage.getItem(key) ?? "null");
      if (record?.edits?.length || record?.conflicts?.length) slugs.add(key.split(":")[2]);
    }
  } catch {
    /* storage is blocked: nothing was stored */
  }
  return [...slugs];
}

/* Delete this user's data from this browser and stop other tabs from storing more. */
export function forgetPerson(user, storage = window.localStorage) {
  try {
    const keys = keysOf(storage, [`${PREFIX}:${user}:`, `${CHOICE}:${user}:`]);
    for (const key of [...keys, `${CHOICE}:${user}`]) storage.removeItem(key);
    storage.setItem(SIGNED_OUT, user);
    storage.removeItem(SIGNED_OUT);
  } catch {
    /* storage is blocked: nothing was stored */
  }
}

/* Storage keys of the model this user chose last: in this suite, in any suite. */
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

  /* Unsaved records of this tab and of closed tabs, oldest first: {records: [{version, edits, conflicts}]}. This tab takes them
     over. */
  recover() {
    const records = [];
    try {
      const keys = Array.from({ length: this.storage.length }, (_, k) => this.storage.key(k));
      for (const key of keys.filter((candidate) => candidate?.startsWith(this.base))) {
        const record = this._read(key);
        if (!record || (key !== this.key && this._lives(record))) continue;
        records.push(record);
        this.taken.push(key);
      }
    } catch {
      /* storage is blocked: nothing was stored */
    }
    records.sort((a, b) => (a.kept ?? 0) - (b.kept ?? 0));
    return { records };
  }

  /* The server has the recovered records. */
  forget() {
    for (const key of this.taken) if (key !== this.key) this.storage.removeItem(key);
    this.taken = [];
  }

  /* This user signed out in another tab. */
  hear({ key, newValue }) {
    if (key === SIGNED_OUT && newValue === this.user) this.close();
  }

  /* Stop storing. */
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
      /* storage is blocked */
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
