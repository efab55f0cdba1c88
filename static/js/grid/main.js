/* Entry point of the editor page: reads the addresses from the page, loads the draft, connects editor, saving and panels. */

import { call, loadDraft } from "./api.js";
import { ask } from "./ask.js";
import { announce, counted, h } from "./dom.js";
import { DesignPanel } from "./design.js";
import { Earlier } from "./earlier.js";
import { Editor } from "./editor.js";
import { ItemPanel } from "./item.js";
import { LintPanel } from "./lint.js";
import { attachMenus } from "./menus.js";
import { FindPanel } from "./find.js";
import { openMerge, takeMine } from "./merge.js";
import { drawPlot } from "./plot.js";
import { PredictionsPanel } from "./predictions.js";
import { Preview } from "./preview.js";
import { ScoringPanel } from "./scoring.js";
import { SentenceDialog } from "./sentence.js";
import { SaveQueue, bodyOf, conflictsOf, together, undone } from "./save.js";
import { LocalStore, choiceKeys } from "./store.js";

const root = document.querySelector("[data-grid-editor]");
const find = (name) => root.querySelector(`[data-${name}]`);
const embedded = (name) => JSON.parse(document.querySelector(`#grid-${name}`).textContent);
const endpoints = embedded("endpoints");

const STATES = {
  loading: "Loading …",
  saving: "Saving …",
  saved: "Saved",
  offline: "Offline, kept locally",
  conflict: "Conflict",
  refused: "Not saved",
};

const status = find("save-status");
function showState(state, detail = "") {
  const changed = status.dataset.state !== state;
  status.dataset.state = state;
  status.querySelector("[data-save-text]").textContent = STATES[state] + (detail ? `: ${detail}` : "");
  find("save-retry").hidden = state !== "offline" && state !== "refused";
  find("save-resolve").hidden = state !== "conflict";
  if (changed && (state === "offline" || state === "conflict" || state === "refused")) announce(STATES[state]);
}

const message = find("message");
const editor = new Editor({
  box: find("grid"),
  menu: find("context-menu"),
  headed: { url: endpoints.sheet, dialog: find("sheet") },
  title: `Sentences of ${root.dataset.title}`,
  rightToLeft: root.dataset.direction === "rtl",
  hooks: {
    onEdit: (ops, kind) => {
      if (kind === "do") earlier.forgetRedo();
      save.push(ops, editor.doc.regions);
    },
    onAsk: (question, go) => ask(find("ask"), question, go, () => editor.view.place(true)),
    onStep: stepEarlier,
    onChange: (ops, scoresStand) => changed(ops, scoresStand),
    onSentence: () => sentence.open(),
    onFind: () => search.open(),
    onHidden: () => search.clear(),
    onMessage: (text, look) => {
      message.textContent = text;
      message.hidden = !text;
      message.className = `grid-message${look ? ` is-${look}` : ""}`;
    },
  },
});
const store = new LocalStore(root.dataset.suite, root.dataset.user);
const save = new SaveQueue({ url: endpoints.cells, version: 0, store, onState: stateChanged, onDiverged: reload });
const earlier = new Earlier(endpoints.cells, embedded("earlier") || []);
const predictions = new PredictionsPanel(find("predictions"), editor, { url: endpoints.formula });
const design = new DesignPanel(root.querySelector("[data-design]"), editor, predictions, { url: endpoints.design });
const scoring = new ScoringPanel(root.querySelector("[data-scoring]"), editor);
const lint = new LintPanel(
  { list: find("findings"), aside: find("findings-aside"), count: find("findings-count") },
  editor,
  { url: endpoints.lint, settings: { join: ["Set how regions are joined", () => scoring.go()] } },
);
const search = new FindPanel(find("find"), find("filter-state"), editor);
const sentence = new SentenceDialog(find("sentence"), editor);
new ItemPanel(find("item"), editor);
const preview = new Preview({
  url: endpoints.preview,
  getDoc: () => editor.doc,
  visibleItems: () => editor.visibleItems(),
  onResult: (items) => {
    for (const item of items) editor.view.repaintItem(item);
    if (!editor.keyboard.editing) editor.view.place(editor.view.hasFocus);
    drawResults();
  },
  onState: (text, look) => {
    const line = find("preview-state");
    line.textContent = text;
    line.dataset.look = look;
  },
});

// --- after a change ----------------------------------------------------------------------------------------------
function changed(ops, scoresStand) {
  predictions.sync();
  design.sync();
  scoring.sync();
  search.sync();
  offerColours();
  showShape();
  find("undo").disabled = !editor.history.canUndo && !earlier.canUndo;
  find("redo").disabled = !editor.history.canRedo && !earlier.canRedo;
  if (!preview.on) return;
  const kinds = new Set(ops.map((op) => op.op));
  if (kinds.size === 1 && kinds.has("set_cells"))
    preview.changed(new Set(ops.flatMap((op) => op.cells.map(([item]) => item))));
  else
    preview.everything({
      forget: !scoresStand && ![...kinds].every((kind) => kind === "set_predictions" || kind === "set_factors"),
    });
}

function showShape() {
  const { items, conditions, regions } = editor.doc;
  find("shape").textContent = [
    counted(items.length, "item"),
    counted(conditions.length, "condition"),
    counted(regions.length, "region"),
  ].join(" × ");
}

function stateChanged(state, detail) {
  showState(state, detail || (store.full ? "not all edits fit into the storage of this browser" : ""));
  if (state === "saved") {
    lint.later();
  }
}

// --- changes from before this visit ---------------------------------------------------------------------------
/* Take the step if no step of this visit is next. */
function stepEarlier(kind) {
  const isNext = kind === "undo" ? !editor.history.canUndo && earlier.canUndo : earlier.canRedo;
  return isNext ? restoreEarlier(kind) : null;
}

async function restoreEarlier(kind) {
  predictions.commit();
  editor.setLocked(true);
  try {
    if (!(await save.drain())) throw new Error("not everything is saved yet");
    const { version, words, message: refusal } = await earlier.step(kind, save.version);
    const draft = await loadDraft(endpoints);
    if (refusal || draft.version !== version) {
      earlier.clear(); // another editor changed the draft
      editor.history.clear();
    }
    editor.setDocument(draft);
    save.caughtUp(draft.version);
    changed([{ op: "draft" }], false);
    editor.say(refusal || `${kind === "undo" ? "undone" : "redone"}: ${words}`, refusal ? "bad" : "");
  } catch (error) {
    editor.say(`This step is not possible now: ${error.message}`, "bad");
  } finally {
    editor.setLocked(false);
  }
}

// --- changes by others -----------------------------------------------------------------------------------
/* Reload the draft. Edits made during the load are saved first, and the load is repeated. */
async function reload() {
  const draft = await loadDraft(endpoints);
  const moved = save.refused || draft.structure > save.version;
  if (moved && editor.keyboard.isTyping) {
    await editor.keyboard.rest(); // do not interrupt typing
    return reload();
  }
  if (moved) editor.keyboard.commit(); // the typed text belongs to a cell of the old draft
  predictions.commit();
  if (save.unsaved || draft.version < save.version) return;
  if (moved) editor.history.clear(); // its steps refer to positions by number
  earlier.clear();
  editor.setDocument(draft);
  changed([{ op: "draft" }], false);
  save.caughtUp(draft.version);
  if (save.conflicts.length) showMerge();
  else announce("changes by another editor were loaded");
}

function showMerge() {
  openMerge(find("merge"), editor.doc, save.conflicts, root.dataset.user, (choices) => {
    save.conflicts = [];
    const ops = choices.filter((choice) => choice.mine).map((choice) => takeMine(editor.doc, choice.conflict));
    const cells = ops.filter((op) => op?.op === "set_cells").flatMap((op) => op.cells);
    const rest = ops.filter((op) => op && op.op !== "set_cells");
    save.keep();
    editor.perform({ label: "merged", ops: [...(cells.length ? [{ op: "set_cells", cells }] : []), ...rest] });
    save.settle();
  });
}

// --- preview -----------------------------------------------------------------------------------------------------
function drawResults() {
  if (!preview.on) return;
  drawPlot(find("plot"), editor.doc, preview.means(editor.doc), editor.sheet.critical.regions);
  predictions.tally(preview.tally(editor.doc));
}

const modelKeys = choiceKeys(root.dataset.user, root.dataset.suite);

/* Select the model this user chose last in this suite, else in any suite. */
function recallModel(choice) {
  try {
    const known = new Set([...choice.options].map((option) => option.value));
    const last = modelKeys.map((key) => localStorage.getItem(key)).find((slug) => known.has(slug));
    if (last) choice.value = last;
  } catch {
    /* storage is blocked */
  }
}

function rememberModel(model) {
  try {
    for (const key of modelKeys) localStorage.setItem(key, model);
  } catch {
    /* storage is blocked */
  }
}

function switchPreview() {
  const on = find("preview-switch").checked;
  const model = find("preview-model").value;
  if (on && model) {
    rememberModel(model);
    preview.start(model);
  } else preview.stop();
  find("plot-part").hidden = !preview.on;
  showColours();
  editor.setOverlay({
    on: preview.on,
    bitsOf: (...at) => preview.bitsOf(...at),
    baselineOf: (item) => preview.baselineOf(item),
    regionOf: (...at) => preview.regionOf(...at),
    outcomeOf: (...at) => preview.outcomeOf(...at),
  });
  if (!preview.on) predictions.tally(null);
}

/* Offer bits per token, and the difference from each condition. */
function offerColours() {
  const choice = find("preview-baseline");
  if (!choice) return;
  const { conditions } = editor.doc;
  preview.baseline = conditions.includes(preview.baseline) ? preview.baseline : "";
  const options = conditions.map((name) => h("option", { value: name, text: `Difference from ${name}` }));
  choice.replaceChildren(h("option", { value: "", text: "Bits per token" }), ...options);
  choice.value = preview.baseline;
  showColours();
}

function showColours() {
  const shown = preview.on ? (preview.baseline ? "differences" : "bits") : "texts";
  for (const part of root.querySelectorAll("[data-with]")) part.hidden = !part.dataset.with.split(" ").includes(shown);
  find("baseline-name").textContent = preview.baseline;
}

function switchColours() {
  preview.baseline = find("preview-baseline").value;
  showColours();
  editor.view.repaintAll();
  editor.view.place(false);
}

// --- buttons -------------------------------------------------------------------------------------------------------
function attach() {
  const back = (action) => () => {
    action();
    editor.view.place(true);
  };
  find("undo").addEventListener(
    "click",
    back(() => editor.undo()),
  );
  find("redo").addEventListener(
    "click",
    back(() => editor.redo()),
  );
  find("fill-down").addEventListener(
    "click",
    back(() => editor.fillDown()),
  );
  find("sentence-open").addEventListener("click", () => sentence.open());
  find("find-open").addEventListener("click", () => search.open());
  find("add-prediction").addEventListener("click", () => predictions.add());
  find("save-retry").addEventListener("click", () => save.retry());
  find("save-resolve").addEventListener("click", showMerge);
  find("help").addEventListener("click", () => find("help-dialog").showModal());
  find("preview-switch")?.addEventListener("change", switchPreview);
  if (find("preview-model")) recallModel(find("preview-model"));
  find("preview-model")?.addEventListener("change", switchPreview);
  find("preview-baseline")?.addEventListener("change", switchColours);
  for (const link of root.querySelectorAll("[data-leave]")) {
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      editor.keyboard.commit();
      if (await save.drain()) location.assign(link.href);
      else editor.say("Not everything is saved yet, so the page cannot be left now.", "bad");
    });
  }
  for (const bar of root.querySelectorAll(".grid-toolbar")) {
    bar.addEventListener("mousedown", (event) => event.target.closest("button, summary") && event.preventDefault());
  }
  attachMenus(editor, root);
  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (!(event.ctrlKey || event.metaKey) || event.altKey || (key !== "z" && key !== "y")) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) editor.redo();
    else editor.undo();
  });
  for (const dialog of root.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => event.target.closest("[data-close]") && dialog.close());
  }
  window.addEventListener("online", () => save.retry());
  window.addEventListener("storage", (event) => store.hear(event));
  document.addEventListener("signing-out", () => store.close());
  window.addEventListener("beforeunload", (event) => {
    if (store.closed) return;
    editor.keyboard.commit(false);
    document.activeElement?.blur(); // commit a field outside the sheet
    if (!save.unsaved && !save.conflicts.length && !sentence.unsaved) return;
    save.flush();
    event.preventDefault();
    event.returnValue = "";
  });
  window.addEventListener("pagehide", () => store.leave());
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && save.flush());
  setInterval(() => store.beat(), 5000);
}

/* Send unsaved edits of earlier visits; the server skips ids it already has. */
async function sendKept() {
  const { records } = store.recover();
  const conflicts = [];
  let edits = 0;
  for (const record of records) {
    conflicts.push(...(record.conflicts ?? []));
    if (!record.edits?.length) continue;
    try {
      const { data } = await call("PATCH", endpoints.cells, bodyOf(record.version, record.edits));
      conflicts.push(...conflictsOf(data, record.edits));
      edits += record.edits.length;
    } catch (error) {
      if (!error.status) throw error;
      const message = `Edits from an earlier visit were refused: ${error.message}`;
      conflicts.push(...record.edits.flatMap((edit) => undone(edit, { message })));
    }
  }
  if (edits) editor.say(`${counted(edits, "edit")} from an earlier visit ${edits === 1 ? "was" : "were"} sent.`, "");
  return together(conflicts);
}

async function start() {
  attach();
  showState("loading");
  try {
    const conflicts = await sendKept();
    const draft = await editor.load(endpoints, embedded("draft"));
    if (draft.version !== embedded("draft").version) earlier.clear();
    save.version = draft.version;
    save.conflicts = conflicts;
    save.keep();
    store.forget();
    changed([{ op: "draft" }], true);
    save.settle();
    if (conflicts.length) showMerge();
    root.dataset.ready = "yes";
  } catch (error) {
    showState("refused", error.message);
    editor.say("The draft could not be loaded. Reload the page to try again; nothing that you typed is lost.", "bad");
  }
}

start();
