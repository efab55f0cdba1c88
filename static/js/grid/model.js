/* The document of the grid and the ops that change it (docs/grid.md). Pure: no DOM, no network.
   applyOps() changes the document and returns the ops that undo it. A row is an item in a condition. */

export class OpError extends Error {}

const refuse = (message) => {
  throw new OpError(message);
};
const need = (condition, message) => condition || refuse(message);

const CONTROL =
  /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/* Remove control characters. Names, descriptions and formulas of predictions keep their spaces. */
export const printable = (text) => String(text).replace(CONTROL, "");

/* Normalise a cell as the server does: trim, and collapse inner spaces. No-break spaces stay. */
export function tidy(text) {
  return printable(text)
    .replace(/[ \t\r\n]+/g, " ")
    .replace(/^ +| +$/g, "");
}

export const copyPredictions = (list) => list.map((prediction) => ({ ...prediction }));
export const scoringOf = ({ metric, join }) => ({ metric, join });
export const copyFactors = (list) =>
  list.map(({ name, levels, conditions }) => ({ name, levels: [...levels], conditions: { ...conditions } }));
const samePredictions = (a, b) => JSON.stringify(a) === JSON.stringify(b);

export class GridDocument {
  constructor({
    regions = [],
    conditions = [],
    items = [],
    rows = [],
    predictions = [],
    factors = [],
    metric = "sum",
    join = "space",
  } = {}) {
    this.metric = metric;
    this.join = join;
    this.regions = [...regions];
    this.conditions = [...conditions];
    this.items = [...items];
    this.predictions = copyPredictions(predictions);
    this.factors = copyFactors(factors);
    this.texts = new Map();
    this.hidden = new Set(); // texts of the rows hidden by the filter
    this.shown = null; // positions of the other rows
    this.addRows(rows);
  }

  /* Rows are loaded in pages. */
  addRows(rows) {
    for (const { item, condition, contents } of rows) {
      if (!this.texts.has(item)) this.texts.set(item, new Map());
      const row = [...contents];
      while (row.length < this.regions.length) row.push("");
      this.texts.get(item).set(condition, row);
    }
  }

  get nAll() {
    return this.items.length * this.conditions.length;
  }

  /* Hide rows for which keep(item, condition, texts) is false. New rows are shown, and edited rows stay. */
  filter(keep = null) {
    this.hidden = new Set();
    for (const [item, rows] of keep ? this.texts : [])
      for (const [condition, row] of rows) if (!keep(item, condition, row)) this.hidden.add(row);
    this.look();
  }

  look() {
    const all = () => this.items.flatMap((item) => this.conditions.map((condition) => ({ item, condition })));
    this.shown = this.hidden.size ? all().filter(({ item, condition }) => !this.isHidden(item, condition)) : null;
  }

  isHidden(item, condition) {
    return this.hidden.has(this.contents(item, condition));
  }

  /* Number of hidden rows that these ops change or delete. */
  hiddenIn(ops) {
    const rows = new Set();
    const add = (item, condition) => this.isHidden(item, condition) && rows.add(this.contents(item, condition));
    for (const op of this.hidden.size ? ops : []) {
      if (op.op === "set_cells") for (const [item, condition] of op.cells) add(item, condition);
      if (!op.op.startsWith("delete_")) continue;
      for (const item of op.items ?? this.items)
        for (const name of op.name ? [op.name] : this.conditions) add(item, name);
    }
    return rows.size;
  }

  get nRows() {
    return this.shown ? this.shown.length : this.nAll;
  }

  beginsItem(row) {
    return row === 0 || this.place(row - 1).item !== this.place(row).item;
  }

  /** @returns {{item?: number, condition?: string}} empty if there is no such row */
  place(row) {
    if (this.shown) return this.shown[row] ?? {};
    const n = this.conditions.length;
    return { item: this.items[Math.floor(row / n)], condition: this.conditions[row % n] };
  }

  rowOf(item, condition) {
    if (this.shown) return this.shown.findIndex((row) => row.item === item && row.condition === condition);
    const at = this.items.indexOf(item);
    const c = this.conditions.indexOf(condition);
    return at < 0 || c < 0 ? -1 : at * this.conditions.length + c;
  }

  contents(item, condition) {
    return this.texts.get(item)?.get(condition);
  }

  /* `region` is a number from 1. */
  cell(item, condition, region) {
    return this.texts.get(item)?.get(condition)?.[region - 1];
  }

  get isLoaded() {
    for (const item of this.items) {
      const rows = this.texts.get(item);
      if (!rows) return false;
      for (const condition of this.conditions) if (!rows.has(condition)) return false;
    }
    return true;
  }

  nextNumber(more = 0) {
    return this.items.reduce((most, number) => Math.max(most, number), 0) + 1 + more;
  }

  toJSON() {
    const rows = [];
    for (const item of this.items) {
      for (const condition of this.conditions) {
        rows.push({ item, condition, contents: [...(this.contents(item, condition) ?? [])] });
      }
    }
    const { metric, join } = this;
    return {
      metric,
      join,
      regions: [...this.regions],
      conditions: [...this.conditions],
      items: [...this.items],
      rows,
      predictions: copyPredictions(this.predictions),
      factors: copyFactors(this.factors),
    };
  }
}

const within = (at, length) => Number.isInteger(at) && at >= 0 && at <= length;
const rowsOfItem = (doc, item) =>
  Object.fromEntries(doc.conditions.map((name) => [name, [...(doc.contents(item, name) ?? [])]]));
const checkName = (name, what) => need(typeof name === "string" && name.trim() !== "", `A ${what} needs a name.`);
const checkRegion = (doc, region) =>
  need(Number.isInteger(region) && region >= 1 && region <= doc.regions.length, `There is no region ${region}.`);
const checkItem = (doc, item) => need(doc.items.includes(item), `There is no item ${item}.`);
const checkNumber = (number) =>
  need(Number.isInteger(number) && number >= 0 && number <= 999_999_999, "An item number must be a whole number.");
const checkCondition = (doc, name) => need(doc.conditions.includes(name), `There is no condition “${name}”.`);

function checkNewCondition(doc, name) {
  checkName(name, "condition");
  need(!/[%\p{Cc}]/u.test(name), "A condition name cannot contain % or control characters.");
  need(!doc.conditions.includes(name), `A condition “${name}” already exists.`);
}

function move(list, from, to) {
  const [moved] = list.splice(from, 1);
  list.splice(to, 0, moved);
}

function eachRow(doc, change) {
  for (const rows of doc.texts.values()) for (const [condition, row] of rows) change(row, condition);
}

/* Each op checks its arguments, changes the document and returns its inverse. `to` and `at` are positions after the change. */
const OPS = {
  set_cells(doc, { cells }) {
    for (const [item, condition, region] of cells) {
      checkRegion(doc, region);
      need(doc.contents(item, condition) !== undefined, `There is no row ${item} ${condition}.`);
    }
    const back = [];
    for (const [item, condition, region, , text] of cells) {
      const row = doc.contents(item, condition);
      back.push([item, condition, region, text, row[region - 1]]);
      row[region - 1] = text;
    }
    return [{ op: "set_cells", cells: back.reverse() }];
  },

  insert_items(doc, { at, items }) {
    need(within(at, doc.items.length), `Items cannot be inserted at position ${at}.`);
    const numbers = items.map((item) => item.number);
    for (const number of numbers) {
      checkNumber(number);
      need(!doc.items.includes(number), `An item ${number} already exists.`);
    }
    need(new Set(numbers).size === numbers.length, "Two new items have the same number.");
    doc.items.splice(at, 0, ...numbers);
    for (const { number, rows } of items) {
      const texts = new Map();
      for (const name of doc.conditions)
        texts.set(
          name,
          doc.regions.map((_, k) => rows?.[name]?.[k] ?? ""),
        );
      doc.texts.set(number, texts);
    }
    return [{ op: "delete_items", items: numbers }];
  },

  delete_items(doc, { items }) {
    for (const item of items) checkItem(doc, item);
    const gone = new Set(items);
    const back = [];
    doc.items.forEach((number, at) => {
      if (!gone.has(number)) return;
      const before = back.at(-1);
      const restored = { number, rows: rowsOfItem(doc, number) };
      if (before && before.at + before.items.length === at) before.items.push(restored);
      else back.push({ op: "insert_items", at, items: [restored] });
    });
    doc.items = doc.items.filter((number) => !gone.has(number));
    for (const item of items) doc.texts.delete(item);
    return back;
  },

  move_item(doc, { item, to }) {
    checkItem(doc, item);
    need(within(to, doc.items.length - 1), `There is no position ${to}.`);
    const from = doc.items.indexOf(item);
    move(doc.items, from, to);
    return [{ op: "move_item", item, to: from }];
  },

  renumber_item(doc, { item, to }) {
    checkItem(doc, item);
    checkNumber(to);
    need(to === item || !doc.items.includes(to), `An item ${to} already exists.`);
    doc.items[doc.items.indexOf(item)] = to;
    const rows = doc.texts.get(item);
    doc.texts.delete(item);
    doc.texts.set(to, rows);
    return [{ op: "renumber_item", item: to, to: item }];
  },

  insert_condition(doc, { at, name, rows }) {
    checkNewCondition(doc, name);
    need(within(at, doc.conditions.length), `Conditions cannot be inserted at position ${at}.`);
    doc.conditions.splice(at, 0, name);
    for (const item of doc.items) {
      if (!doc.texts.has(item)) doc.texts.set(item, new Map());
      doc.texts.get(item).set(
        name,
        doc.regions.map((_, k) => rows?.[item]?.[k] ?? ""),
      );
    }
    return [{ op: "delete_condition", name }];
  },

  delete_condition(doc, { name }) {
    checkCondition(doc, name);
    need(doc.conditions.length > 1, "A suite needs at least one condition.");
    const at = doc.conditions.indexOf(name);
    const rows = {};
    for (const item of doc.items) {
      rows[item] = [...(doc.contents(item, name) ?? [])];
      doc.texts.get(item)?.delete(name);
    }
    doc.conditions.splice(at, 1);
    const before = copyFactors(doc.factors);
    for (const { conditions } of doc.factors) delete conditions[name];
    const levels = before.some(({ conditions }) => Object.hasOwn(conditions, name));
    return [
      { op: "insert_condition", at, name, rows },
      ...(levels ? [{ op: "set_factors", factors: before, old: copyFactors(doc.factors) }] : []),
    ];
  },

  move_condition(doc, { name, to }) {
    checkCondition(doc, name);
    need(within(to, doc.conditions.length - 1), `There is no position ${to}.`);
    const from = doc.conditions.indexOf(name);
    move(doc.conditions, from, to);
    return [{ op: "move_condition", name, to: from }];
  },

  rename_condition(doc, { name, to }) {
    checkCondition(doc, name);
    if (name !== to) checkNewCondition(doc, to);
    doc.conditions[doc.conditions.indexOf(name)] = to;
    for (const rows of doc.texts.values()) {
      const row = rows.get(name);
      rows.delete(name);
      if (row) rows.set(to, row);
    }
    for (const factor of doc.factors) {
      factor.conditions = Object.fromEntries(
        Object.entries(factor.conditions).map(([key, level]) => [key === name ? to : key, level]),
      );
    }
    return [{ op: "rename_condition", name: to, to: name }];
  },

  insert_region(doc, { at, name, texts = [] }) {
    checkName(name, "region");
    need(within(at - 1, doc.regions.length), `There is no position ${at} for a region.`);
    for (const [item, condition] of texts) {
      need(doc.contents(item, condition) !== undefined, `There is no row ${item} ${condition}.`);
    }
    doc.regions.splice(at - 1, 0, name);
    eachRow(doc, (row) => row.splice(at - 1, 0, ""));
    for (const [item, condition, text] of texts) doc.contents(item, condition)[at - 1] = text;
    return [{ op: "delete_region", region: at }];
  },

  delete_region(doc, { region }) {
    checkRegion(doc, region);
    need(doc.regions.length > 1, "A suite needs at least one region.");
    const texts = [];
    for (const item of doc.items) {
      for (const condition of doc.conditions) {
        const text = doc.cell(item, condition, region);
        if (text) texts.push([item, condition, text]);
      }
    }
    const [name] = doc.regions.splice(region - 1, 1);
    eachRow(doc, (row) => row.splice(region - 1, 1));
    return [{ op: "insert_region", at: region, name, texts }];
  },

  move_region(doc, { region, to }) {
    checkRegion(doc, region);
    checkRegion(doc, to);
    move(doc.regions, region - 1, to - 1);
    eachRow(doc, (row) => move(row, region - 1, to - 1));
    return [{ op: "move_region", region: to, to: region }];
  },

  rename_region(doc, { region, to }) {
    checkRegion(doc, region);
    checkName(to, "region");
    const before = doc.regions[region - 1];
    doc.regions[region - 1] = to;
    return [{ op: "rename_region", region, to: before }];
  },

  set_predictions(doc, { predictions }) {
    const old = doc.predictions;
    doc.predictions = copyPredictions(predictions);
    return [{ op: "set_predictions", predictions: old, old: copyPredictions(predictions) }];
  },

  set_factors(doc, { factors }) {
    const old = doc.factors;
    doc.factors = copyFactors(factors);
    return [{ op: "set_factors", factors: old, old: copyFactors(factors) }];
  },

  set_scoring(doc, { metric, join }) {
    const old = scoringOf(doc);
    Object.assign(doc, { metric, join });
    return [{ op: "set_scoring", ...old, old: { metric, join } }];
  },
};

export const OP_NAMES = Object.keys(OPS);

export function applyOp(doc, op) {
  if (!Object.hasOwn(OPS, op.op)) refuse(`Unknown op ${op.op}.`);
  const back = OPS[op.op](doc, op);
  if (doc.hidden.size && op.op !== "set_cells") doc.look();
  return back;
}

/* Apply all ops or none: if one fails, undo the earlier ones and rethrow. */
export function applyOps(doc, ops) {
  let back = [];
  try {
    for (const op of ops) back = [...applyOp(doc, op), ...back];
  } catch (error) {
    for (const op of back) applyOp(doc, op);
    throw error;
  }
  return back;
}

/* Update `old` of an op to the current values, for undo after changes by others. */
export function refresh(doc, op) {
  if (op.op === "set_cells") {
    const cells = op.cells
      .filter(([item, condition, region]) => doc.cell(item, condition, region) !== undefined)
      .map(([item, condition, region, , text]) => [item, condition, region, doc.cell(item, condition, region), text]);
    return { ...op, cells };
  }
  if (op.op === "set_predictions") return { ...op, old: copyPredictions(doc.predictions) };
  if (op.op === "set_factors") return { ...op, old: copyFactors(doc.factors) };
  if (op.op === "set_scoring") return { ...op, old: scoringOf(doc) };
  return op;
}

/* True if the op changes nothing and need not be sent. */
export function isIdle(op) {
  if (op.op === "set_cells") return op.cells.every(([, , , old, text]) => old === text);
  if (op.op === "set_predictions") return samePredictions(op.old, op.predictions);
  if (op.op === "set_factors") return JSON.stringify(op.old) === JSON.stringify(op.factors);
  if (op.op === "set_scoring") return JSON.stringify(scoringOf(op.old)) === JSON.stringify(scoringOf(op));
  return false;
}
