/* Two people, one draft: what did not fit is shown with both values; nothing of either is lost. */

import { applyOps, refresh } from "./model.js";
import { h } from "./dom.js";

/* Edits of this page, done again on the newer document. Cells that hold something else now, and ops that no longer
   fit, come back as conflicts. */
export function rebase(doc, edits) {
  const kept = [];
  const conflicts = [];
  for (const edit of edits) {
    const ops = [];
    edit.ops.forEach((op, index) => {
      const fitting = op.op === "set_cells" ? fitCells(doc, op, edit, index, conflicts) : fitPredictions(doc, op, edit, index, conflicts);
      if (!fitting) return;
      try {
        applyOps(doc, [fitting]);
        ops.push(fitting);
      } catch (error) {
        conflicts.push({ edit: edit.id, op: index, what: "structure", message: error.message, ops: [op] });
      }
    });
    if (ops.length) kept.push({ ...edit, ops });
  }
  return { kept, conflicts };
}

function fitCells(doc, op, edit, index, conflicts) {
  const cells = [];
  for (const [item, condition, region, old, yours] of op.cells) {
    const theirs = doc.cell(item, condition, region);
    if (theirs === yours) continue;
    if (theirs === old) cells.push([item, condition, region, old, yours]);
    else if (theirs === undefined) {
      conflicts.push({ edit: edit.id, op: index, what: "structure", message: `Item ${item}, ${condition}, region ${region} is gone.`, ops: [{ ...op, cells: [[item, condition, region, old, yours]] }] });
    } else conflicts.push({ edit: edit.id, op: index, what: "cell", item, condition, region, old, yours, theirs });
  }
  return cells.length ? { op: "set_cells", cells } : null;
}

function fitPredictions(doc, op, edit, index, conflicts) {
  if (op.op !== "set_predictions") return op;
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  if (same(doc.predictions, op.predictions)) return null;
  if (op.old === undefined || same(doc.predictions, op.old)) return op;
  conflicts.push({ edit: edit.id, op: index, what: "predictions", old: op.old, yours: op.predictions, theirs: doc.predictions });
  return null;
}

/* The op that puts "yours" in place of what stands now. */
export function takeMine(doc, conflict) {
  if (conflict.what === "cell") {
    const { item, condition, region, yours } = conflict;
    return refresh(doc, { op: "set_cells", cells: [[item, condition, region, "", yours]] });
  }
  if (conflict.what === "predictions") return refresh(doc, { op: "set_predictions", predictions: conflict.yours });
  return null;
}

const asText = (value) => {
  if (Array.isArray(value)) return value.map((one) => `${one.name ? `${one.name}: ` : ""}${one.formula}`).join("\n") || "no predictions";
  return value === "" || value === undefined || value === null ? "∅" : String(value);
};

function whereOf(doc, one) {
  if (one.what === "predictions") return "Predictions";
  return `Item ${one.item}, ${one.condition}, ${doc.regions[one.region - 1] ?? `region ${one.region}`}`;
}

/* Shows the dialog. `me` is the name of the person here; choose(list of {conflict, mine}) is called once, with every choice. */
export function openMerge(dialog, doc, conflicts, me, choose) {
  const body = dialog.querySelector("[data-merge-body]");
  const both = conflicts.filter((one) => (one.what === "cell" && one.theirs !== null) || one.what === "predictions");
  const lost = conflicts.filter((one) => !both.includes(one));
  const who = [...new Set(conflicts.map((one) => (one.by === me ? "you, in another tab," : one.by)).filter(Boolean))].join(" and ") || "somebody else";
  const choices = new Map();
  const rows = both.map((one, k) => {
    const option = (mine, text) => {
      const id = `merge-${k}-${mine ? "mine" : "theirs"}`;
      const radio = h("input", { type: "radio", class: "form-check-input", name: `merge-${k}`, id, checked: !mine, onchange: () => choices.set(one, mine) });
      return h("td", {}, h("span", { class: "merge-choice" }, radio, h("label", { for: id, class: "merge-text", text: asText(text) })));
    };
    choices.set(one, false);
    return h("tr", {}, h("th", { scope: "row", text: whereOf(doc, one) }), h("td", { class: "quiet merge-text", text: asText(one.old) }), option(false, one.theirs), option(true, one.yours));
  });
  const all = (mine) => {
    for (const radio of body.querySelectorAll(`input[id$="-${mine ? "mine" : "theirs"}"]`)) {
      radio.checked = true;
      radio.dispatchEvent(new Event("change"));
    }
  };
  const parts = [h("p", { text: `While you were editing, ${who} changed the same places. Theirs are in the draft now; yours are kept here.` })];
  if (rows.length) {
    const head = ["Where", "Before", who.startsWith("you,") ? "In the other tab" : `Theirs (${who})`, "Yours"].map((text) => h("th", { scope: "col", text }));
    parts.push(
      h("div", { class: "btn-row" }, h("button", { type: "button", class: "btn btn-s", text: "All theirs", onclick: () => all(false) }), h("button", { type: "button", class: "btn btn-s", text: "All mine", onclick: () => all(true) })),
      h("div", { class: "table-box" }, h("table", { class: "data merge" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows))),
    );
  }
  if (lost.length) parts.push(...lostPart(lost));
  body.replaceChildren(...parts);
  const apply = dialog.querySelector("[data-merge-apply]");
  apply.onclick = () => {
    dialog.close();
    choose([...choices].map(([conflict, mine]) => ({ conflict, mine })), lost);
  };
  if (!dialog.open) dialog.showModal();
}

function lostText(one) {
  if (one.message) return one.message;
  if (one.what !== "cell") return "An edit no longer fits.";
  return `Item ${one.item}, ${one.condition}, region ${one.region} is not there any more; you wrote “${one.yours}”.`;
}

function lostPart(lost) {
  const text = lost.map((one) => JSON.stringify(one.ops ?? one.yours ?? one.op)).join("\n");
  return [
    h("h3", { text: "Could not be done any more" }),
    h("ul", { class: "bullets" }, ...lost.map((one) => h("li", { text: lostText(one) }))),
    h("label", { class: "form-label", for: "merge-lost", text: "Kept for copying" }),
    h("textarea", { id: "merge-lost", class: "form-control", readOnly: true, spellcheck: false, value: text }),
  ];
}
