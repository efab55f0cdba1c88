/* Actions of the user as {label, ops}; the document is not changed here. Formulas follow moves, renames and deletions,
   and so do names and descriptions made by "Predict effects". */

import {
  afterDelete,
  afterInsert,
  afterMove,
  references,
  renameCondition as renameIn,
  renumberRegions,
} from "./formula.js";
import { followed } from "./generated.js";
import { copyFactors, copyPredictions, printable, scoringOf, tidy } from "./model.js";
import { counted } from "./dom.js";

const entry = (label, ops) => ({ label, ops: ops.filter(Boolean) });

function withPredictions(doc, change) {
  const old = copyPredictions(doc.predictions);
  const predictions = old.map((prediction) => ({ ...prediction, ...change(prediction) }));
  const isSame = predictions.every((prediction, k) =>
    Object.keys(prediction).every((key) => prediction[key] === old[k][key]),
  );
  return isSame ? null : { op: "set_predictions", predictions, old };
}

/* map(number) returns a region's new number, or null if it was deleted. */
function withNumbers(doc, map) {
  const move = (number) => map(number) && { number: map(number), name: doc.regions[number - 1] };
  return withPredictions(doc, (prediction) => ({
    ...followed(prediction, doc, move),
    formula: renumberRegions(prediction.formula, map),
  }));
}

/* `names`: names of the regions after the change. */
export const withNames = (doc, names) =>
  withPredictions(doc, (prediction) => followed(prediction, doc, (number) => ({ number, name: names[number - 1] })));

// --- texts -------------------------------------------------------------------------------------------------------
const change = (doc, item, condition, region, text) => [
  item,
  condition,
  region,
  doc.cell(item, condition, region),
  tidy(text),
];

/* `seen`: the cell's text when typing began; another editor may have changed it since. */
export function setCell(doc, r, c, text, seen) {
  const { item, condition } = doc.place(r);
  const [place, name, region, old, tidied] = change(doc, item, condition, c + 1, text);
  return entry("edit", [{ op: "set_cells", cells: [[place, name, region, seen ?? old, tidied]] }]);
}

function everyCell(doc, rect, textOf) {
  const cells = [];
  for (let r = rect.top; r <= rect.bottom; r += 1) {
    const { item, condition } = doc.place(r);
    for (let c = rect.left; c <= rect.right; c += 1) {
      const cell = change(doc, item, condition, c + 1, textOf(r, c));
      if (cell[3] !== undefined && cell[3] !== cell[4]) cells.push(cell);
    }
  }
  return cells;
}

export function clear(doc, rect) {
  const cells = everyCell(doc, rect, () => "");
  return entry(`cleared ${counted(cells.length, "cell")}`, cells.length ? [{ op: "set_cells", cells }] : []);
}

export function textAt(doc, r, c) {
  const { item, condition } = doc.place(r);
  return doc.cell(item, condition, c + 1) ?? "";
}

/* Copy the first row of the selection down; with one row selected, copy the row above. */
export function fillDown(doc, rect) {
  const source = rect.top === rect.bottom ? rect.top - 1 : rect.top;
  if (source < 0) return entry("nothing to fill down from", []);
  const cells = everyCell(doc, rect, (_, c) => textAt(doc, source, c));
  return entry(`filled down ${counted(cells.length, "cell")}`, cells.length ? [{ op: "set_cells", cells }] : []);
}

const freshRegion = (doc, k) => `Region ${doc.regions.length + k + 1}`;

/* Paste a block of texts at a cell. Rows past the end become items, columns past the end regions. A single text fills the
   selection. Cells beyond the end of a short row are unchanged. */
export function paste(doc, rect, block) {
  const { rows, width } = block;
  if (rows.length === 1 && width === 1 && (rect.top !== rect.bottom || rect.left !== rect.right)) {
    const cells = everyCell(doc, rect, () => rows[0][0]);
    return entry(`filled ${counted(cells.length, "cell")}`, cells.length ? [{ op: "set_cells", cells }] : []);
  }
  const ops = [];
  const newRegions = Math.max(0, rect.left + width - doc.regions.length);
  for (let k = 0; k < newRegions; k += 1) {
    ops.push({ op: "insert_region", at: doc.regions.length + k + 1, name: freshRegion(doc, k), texts: [] });
  }
  const cells = [];
  const inside = Math.min(rows.length, doc.nRows - rect.top);
  for (let k = 0; k < inside; k += 1) {
    const { item, condition } = doc.place(rect.top + k);
    rows[k].forEach((text, j) => {
      const region = rect.left + j + 1;
      const old = doc.cell(item, condition, region) ?? "";
      if (old !== tidy(text)) cells.push([item, condition, region, old, tidy(text)]);
    });
  }
  if (cells.length) ops.push({ op: "set_cells", cells });
  const grown = newItems(doc, rows.slice(Math.max(0, inside)), rect.left, newRegions);
  if (grown.length) ops.push({ op: "insert_items", at: doc.items.length, items: grown });
  const notes = [
    block.ragged ? "rows of different length: missing cells were not changed" : "",
    block.merged ? `${counted(block.merged, "merged cell")} split` : "",
    newRegions ? `${counted(newRegions, "region")} added` : "",
    grown.length ? `${counted(grown.length, "item")} added` : "",
  ].filter(Boolean);
  return entry([`pasted ${rows.length} by ${width}`, ...notes].join("; "), ops);
}

function newItems(doc, rows, left, newRegions) {
  const n = doc.conditions.length;
  const total = doc.regions.length + newRegions;
  const items = [];
  for (let at = 0; at < rows.length; at += n) {
    const texts = {};
    doc.conditions.forEach((name, k) => {
      const row = Array(total).fill("");
      (rows[at + k] ?? []).forEach((text, j) => (row[left + j] = tidy(text)));
      texts[name] = row;
    });
    items.push({ number: doc.nextNumber(items.length), rows: texts });
  }
  return items;
}

// --- items -------------------------------------------------------------------------------------------------------
export function insertItem(doc, at) {
  const number = doc.nextNumber();
  const rows = Object.fromEntries(doc.conditions.map((name) => [name, doc.regions.map(() => "")]));
  return entry(`added item ${number}`, [{ op: "insert_items", at, items: [{ number, rows }] }]);
}

export function duplicateItem(doc, item) {
  const number = doc.nextNumber();
  const rows = Object.fromEntries(doc.conditions.map((name) => [name, [...doc.contents(item, name)]]));
  const at = doc.items.indexOf(item) + 1;
  return entry(`item ${item} copied as item ${number}`, [{ op: "insert_items", at, items: [{ number, rows }] }]);
}

export function deleteItems(items) {
  const what = items.length === 1 ? `item ${items[0]}` : counted(items.length, "item");
  return entry(`deleted ${what}`, items.length ? [{ op: "delete_items", items }] : []);
}

export function moveItem(doc, item, by) {
  const to = doc.items.indexOf(item) + by;
  if (to < 0 || to >= doc.items.length) return entry("already at the end", []);
  return entry(`item ${item} moved ${by < 0 ? "up" : "down"}`, [{ op: "move_item", item, to }]);
}

export function renumberItem(item, to) {
  return entry(`item ${item} is now item ${to}`, item === to ? [] : [{ op: "renumber_item", item, to }]);
}

// --- conditions --------------------------------------------------------------------------------------------------
export function freshCondition(doc, base = "condition") {
  for (let k = doc.conditions.length + 1; ; k += 1) if (!doc.conditions.includes(`${base}_${k}`)) return `${base}_${k}`;
}

export function insertCondition(doc, at, text = freshCondition(doc)) {
  const name = tidy(text);
  const rows = Object.fromEntries(doc.items.map((item) => [item, doc.regions.map(() => "")]));
  return entry(`added condition ${name}`, [{ op: "insert_condition", at, name, rows }]);
}

export function duplicateCondition(doc, source) {
  const name = freshCondition(doc, source);
  const rows = Object.fromEntries(doc.items.map((item) => [item, [...doc.contents(item, source)]]));
  const at = doc.conditions.indexOf(source) + 1;
  return entry(`condition ${source} copied as ${name}`, [{ op: "insert_condition", at, name, rows }]);
}

/* Formulas keep the name of a deleted condition, which is an error until it is replaced. */
export function deleteCondition(doc, name) {
  return entry(`deleted condition ${name}${warning(usersOfCondition(doc, name))}`, [{ op: "delete_condition", name }]);
}

export function moveCondition(doc, name, by) {
  const to = doc.conditions.indexOf(name) + by;
  if (to < 0 || to >= doc.conditions.length) return entry("already at the end", []);
  return entry(`condition ${name} moved ${by < 0 ? "up" : "down"}`, [{ op: "move_condition", name, to }]);
}

export function renameCondition(doc, name, to) {
  const newName = tidy(to);
  if (name === newName) return entry("", []);
  return entry(`condition ${name} is now ${newName}`, [
    { op: "rename_condition", name, to: newName },
    withPredictions(doc, ({ formula }) => ({ formula: renameIn(formula, name, newName) })),
  ]);
}

// --- regions (numbers from 1) --------------------------------------------------------------------------------------
function insertAt(doc, at, name, texts) {
  return [{ op: "insert_region", at, name, texts }, withNumbers(doc, afterInsert(at))];
}

export function insertRegion(doc, at, name = freshRegion(doc, 0)) {
  return entry(`added region ${at}`, insertAt(doc, at, tidy(name), []));
}

export function duplicateRegion(doc, region) {
  const texts = [];
  for (const item of doc.items) {
    for (const condition of doc.conditions) {
      const text = doc.cell(item, condition, region);
      if (text) texts.push([item, condition, text]);
    }
  }
  const name = `${doc.regions[region - 1]} 2`;
  return entry(`region ${region} copied`, insertAt(doc, region + 1, name, texts));
}

export function deleteRegion(doc, region) {
  const name = doc.regions[region - 1];
  return entry(`deleted region ${region} ${name}${warning(usersOfRegion(doc, region))}`, [
    { op: "delete_region", region },
    withNumbers(doc, afterDelete(region)),
  ]);
}

export function moveRegion(doc, region, by) {
  const to = region + by;
  if (to < 1 || to > doc.regions.length) return entry("already at the end", []);
  return entry(`region ${region} is now region ${to}`, [
    { op: "move_region", region, to },
    withNumbers(doc, afterMove(region, to)),
  ]);
}

export function renameRegion(doc, region, to) {
  const newName = tidy(to);
  if (doc.regions[region - 1] === newName) return entry("", []);
  const names = doc.regions.map((current, k) => (k === region - 1 ? newName : current));
  return entry(`region ${region} is now ${newName}`, [
    { op: "rename_region", region, to: newName },
    withNames(doc, names),
  ]);
}

/* Names of the predictions with such a reference. */
const users = (doc, isLost) =>
  doc.predictions.flatMap(({ name, formula }, k) =>
    references(formula).some(isLost) ? [name || `Prediction ${k + 1}: ${formula}`] : [],
  );

export const usersOfCondition = (doc, name) => users(doc, (ref) => ref.condition === name);
export const usersOfRegion = (doc, region) => users(doc, (ref) => ref.region === region);
const warning = (names) => (names.length ? `; ${counted(names.length, "prediction")} used it` : "");

// --- predictions -------------------------------------------------------------------------------------------------
export function setPredictions(doc, predictions, label) {
  const clean = predictions.map(({ name, description, formula }) => ({
    name: tidy(name),
    description: printable(description),
    formula: printable(formula),
  }));
  return entry(label, [{ op: "set_predictions", predictions: clean, old: copyPredictions(doc.predictions) }]);
}

// --- scoring -----------------------------------------------------------------------------------------------------
export function setScoring(doc, { metric = doc.metric, join = doc.join }) {
  return entry("changed the scoring", [{ op: "set_scoring", metric, join, old: scoringOf(doc) }]);
}

// --- design ------------------------------------------------------------------------------------------------------
export function setFactors(doc, factors, label) {
  return entry(label, [{ op: "set_factors", factors, old: copyFactors(doc.factors) }]);
}

/* Add a condition for each missing combination of levels; `missing` is [{name, levels}]. */
export function addMissing(doc, missing) {
  const rows = Object.fromEntries(doc.items.map((item) => [item, doc.regions.map(() => "")]));
  const factors = copyFactors(doc.factors);
  const ops = [];
  for (const { name: base, levels } of missing) {
    const taken = [...doc.conditions, ...ops.map((op) => op.name)];
    let name = base;
    for (let k = 2; taken.includes(name); k += 1) name = `${base}_${k}`;
    ops.push({ op: "insert_condition", at: doc.conditions.length + ops.length, name, rows });
    factors.forEach((factor, k) => (factor.conditions[name] = levels[k]));
  }
  return entry(`added ${counted(ops.length, "condition")}`, [
    ...ops,
    { op: "set_factors", factors, old: copyFactors(doc.factors) },
  ]);
}
