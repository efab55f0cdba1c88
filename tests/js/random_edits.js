/* Random actions through the sheet's own command model. Answers what happened, as JSON:
   {start, edits: [{kind, label, ops, after}], problems}. `after` is the whole document. */

import * as commands from "/static/js/grid/commands.js";
import { History } from "/static/js/grid/history.js";
import { GridDocument, OpError } from "/static/js/grid/model.js";
import { parseTsv, writeTsv } from "/static/js/grid/tsv.js";

function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const WORDS = [
  "",
  "The cat",
  "plays",
  "  two  blanks ",
  "ein Bär",
  "日本",
  "tab\tin",
  "line\nbreak",
  "no\u00a0break",
  "=1+1",
  "😀",
  '"quoted"',
  "-ly",
  "a\u0007bell",
  "\u2003wide\u2003",
];
const NAMES = ["NP", "Verb", "match", "mis match", "Bär", "x.y", " padded ", "match", "", "a%b"];

/* A design of one factor; its first two conditions are in it. */
function factorsOf(conditions, name) {
  const [low, high] = conditions;
  return [{ name, levels: ["low", "high"], conditions: { [low]: "low", ...(high ? { [high]: "high" } : {}) } }];
}

export function randomDocument(random) {
  const pick = (n) => Math.floor(random() * n);
  const regions = Array.from({ length: 1 + pick(4) }, (_, k) => `R${k + 1}`);
  const conditions = ["match", "mismatch", "third"].slice(0, 1 + pick(3));
  const items = Array.from({ length: pick(5) }, (_, k) => k + 1);
  const rows = items.flatMap((item) =>
    conditions.map((condition) => ({
      item,
      condition,
      contents: regions.map((_, k) => `w${item}${condition[0]}${k}`),
    })),
  );
  const formula = `(${1 + pick(regions.length)};%${conditions[0]}%) > ( 1 ; %${conditions.at(-1)}% )`;
  return {
    regions,
    conditions,
    items,
    rows,
    predictions: [{ name: "one", description: "", formula }],
    factors: factorsOf(conditions, "f"),
    metric: "sum",
    join: "space",
  };
}

function action(doc, random) {
  const pick = (n) => Math.floor(random() * n);
  const of = (list) => list[pick(list.length)];
  const rect = () => {
    const top = pick(doc.nRows);
    const left = pick(doc.regions.length);
    return { top, left, bottom: top + pick(doc.nRows - top), right: left + pick(doc.regions.length - left) };
  };
  const block = () => {
    const rows = Array.from({ length: 1 + pick(5) }, () => Array.from({ length: 1 + pick(3) }, () => of(WORDS)));
    return parseTsv(writeTsv(rows));
  };
  const by = () => (random() < 0.5 ? -1 : 1);
  const anywhere = [
    () => commands.insertItem(doc, pick(doc.items.length + 1)),
    () => commands.insertCondition(doc, pick(doc.conditions.length + 1), of(NAMES)),
    () => commands.insertRegion(doc, 1 + pick(doc.regions.length + 1)),
    () => commands.duplicateRegion(doc, 1 + pick(doc.regions.length)),
    () => commands.duplicateCondition(doc, of(doc.conditions)),
    () => commands.deleteRegion(doc, 1 + pick(doc.regions.length)),
    () => commands.deleteCondition(doc, of(doc.conditions)),
    () => commands.moveRegion(doc, 1 + pick(doc.regions.length), by()),
    () => commands.moveCondition(doc, of(doc.conditions), by()),
    () => commands.renameRegion(doc, 1 + pick(doc.regions.length), of(NAMES)),
    () => commands.renameCondition(doc, of(doc.conditions), of(NAMES)),
    () => commands.paste(doc, doc.nRows ? rect() : { top: 0, left: 0, bottom: 0, right: 0 }, block()),
    () =>
      commands.setPredictions(
        doc,
        [
          ...doc.predictions,
          {
            name: of(NAMES),
            description: of(WORDS),
            formula: `(1;%${of(doc.conditions)}%) < (${1 + pick(9)};%${of(NAMES)}%)`,
          },
        ],
        "add",
      ),
    () => commands.setPredictions(doc, doc.predictions.slice(1), "remove"),
    () =>
      commands.setFactors(
        doc,
        random() < 0.3 ? [] : factorsOf(doc.conditions.slice(pick(doc.conditions.length)), of(["f", "g"])),
        "design",
      ),
    () =>
      commands.setScoring(
        doc,
        random() < 0.5 ? { metric: of(["sum", "mean", ["sum", "max"]]) } : { join: of(["space", "natural", "none"]) },
      ),
    () =>
      commands.addMissing(
        doc,
        doc.factors.length === 1 && !Object.values(doc.factors[0].conditions).includes("high")
          ? [{ name: "high", levels: ["high"] }]
          : [],
      ),
  ];
  const withRows = [
    () => commands.setCell(doc, pick(doc.nRows), pick(doc.regions.length), of(WORDS)),
    () => commands.setCell(doc, pick(doc.nRows), pick(doc.regions.length), of(WORDS)),
    () => commands.clear(doc, rect()),
    () => commands.fillDown(doc, rect()),
    () => commands.paste(doc, rect(), block()),
    () => commands.duplicateItem(doc, of(doc.items)),
    () => commands.deleteItems(doc.items.filter(() => random() < 0.3)),
    () => commands.moveItem(doc, of(doc.items), by()),
    () => commands.renumberItem(of(doc.items), pick(40)),
  ];
  return of(doc.nRows ? [...anywhere, ...withRows, ...withRows] : anywhere)();
}

const said = (doc) => JSON.stringify(doc);

export function run(seed, steps) {
  const random = chance(seed);
  const doc = new GridDocument(randomDocument(random));
  const start = doc.toJSON();
  const edits = [];
  const problems = [];
  const history = new History(doc, {
    onEdit: (ops, entry, kind) =>
      edits.push({ kind, label: entry.label, ops: structuredClone(ops), after: doc.toJSON() }),
  });
  const states = [said(doc)]; // states[n]: the document with n steps done
  for (let k = 0; k < steps; k += 1) {
    const what = random();
    if (what < 0.12 && history.canUndo) history.undo();
    else if (what < 0.2 && history.canRedo) history.redo();
    else {
      const before = said(doc);
      try {
        const { label, ops } = action(doc, random);
        if (history.run(label, ops)) {
          states.length = history.done.length;
          states.push(said(doc));
        } else if (said(doc) !== before) problems.push(`step ${k}: nothing was done, but the document changed`);
      } catch (error) {
        if (!(error instanceof OpError)) throw error;
        if (said(doc) !== before) problems.push(`step ${k}: refused (${error.message}), but the document changed`);
      }
    }
    if (said(doc) !== states[history.done.length]) problems.push(`step ${k}: not the state it was`);
  }
  const last = said(doc);
  const done = history.done.length;
  for (let k = done - 1; k >= 0; k -= 1) {
    history.undo();
    if (said(doc) !== states[k]) problems.push(`undo to ${k}: not the state it was`);
  }
  for (let k = 0; k < done; k += 1) history.redo();
  if (said(doc) !== last) problems.push("redo: not the last state");
  return { start, edits, problems };
}
