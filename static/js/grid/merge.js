/* Merge dialog: shows conflicting edits of two people with both values. */

import { refresh, scoringOf } from "./model.js";
import { h } from "./dom.js";
import { scoringInWords } from "./scoring.js";

/* Current number of a conflict's region; 0 if the region, its item or its condition no longer exists. */
function regionOf(doc, { item, condition, region, name }) {
  const places = doc.regions.flatMap((one, k) => (one === name ? [k + 1] : []));
  const found = places.includes(region) ? region : places.length === 1 ? places[0] : 0;
  return doc.cell(item, condition, found) === undefined ? 0 : found;
}

function theirsOf(doc, one) {
  if (one.what === "predictions") return doc.predictions;
  return one.what === "scoring" ? scoringOf(doc) : doc.cell(one.item, one.condition, regionOf(doc, one));
}

/* The op that replaces the current value by "yours". */
export function takeMine(doc, one) {
  if (one.what === "cell")
    return refresh(doc, { op: "set_cells", cells: [[one.item, one.condition, regionOf(doc, one), "", one.yours]] });
  if (one.what === "scoring") return refresh(doc, { op: "set_scoring", ...one.yours });
  return refresh(doc, { op: "set_predictions", predictions: one.yours });
}

const asText = (value) => {
  if (Array.isArray(value))
    return value.map((one) => `${one.name ? `${one.name}: ` : ""}${one.formula}`).join("\n") || "no predictions";
  if (value?.metric) return scoringInWords(value);
  return value === "" || value === undefined || value === null ? "∅" : String(value);
};

function whereOf(one) {
  if (one.what === "predictions") return "Predictions";
  if (one.what === "scoring") return "Scoring";
  return `Item ${one.item}, ${one.condition}, ${one.name ?? `region ${one.region}`}`;
}

/* Show the dialog. `me`: name of this person; choose(list of {conflict, mine}) is called once, with all choices. */
export function openMerge(dialog, doc, conflicts, me, choose) {
  const body = dialog.querySelector("[data-merge-body]");
  const both = conflicts.filter((one) => one.what !== "edit" && theirsOf(doc, one) !== undefined);
  const lost = conflicts.filter((one) => !both.includes(one));
  const who =
    [...new Set(conflicts.map((one) => (one.by === me ? "you, in another tab," : one.by)).filter(Boolean))].join(
      " and ",
    ) || "another editor";
  const choices = new Map();
  const rows = both.map((one, k) => {
    const theirs = theirsOf(doc, one);
    const untouched = asText(theirs) === asText(one.old); // only items, conditions or regions changed
    const option = (mine, text) => {
      const id = `merge-${k}-${mine ? "mine" : "theirs"}`;
      const radio = h("input", {
        type: "radio",
        class: "form-check-input",
        name: `merge-${k}`,
        id,
        checked: mine === untouched,
        onchange: () => choices.set(one, mine),
      });
      return h(
        "td",
        {},
        h(
          "span",
          { class: "merge-choice" },
          radio,
          h("label", { for: id, class: "merge-text", dir: "auto", text: asText(text) }),
        ),
      );
    };
    choices.set(one, untouched);
    return h(
      "tr",
      {},
      h("th", { scope: "row", text: whereOf(one) }),
      h("td", { class: "quiet" }, h("div", { class: "merge-text", dir: "auto", text: asText(one.old) })),
      option(false, theirs),
      option(true, one.yours),
    );
  });
  const all = (mine) => {
    for (const radio of body.querySelectorAll(`input[id$="-${mine ? "mine" : "theirs"}"]`)) {
      radio.checked = true;
      radio.dispatchEvent(new Event("change"));
    }
  };
  const parts = [
    h("p", {
      text: `While you were editing, ${who} changed this suite, too. Theirs is in the draft now; yours is kept here.`,
    }),
  ];
  if (rows.length) {
    const head = ["Where", "Before", who.startsWith("you,") ? "In the other tab" : `Theirs (${who})`, "Yours"].map(
      (text) => h("th", { scope: "col", text }),
    );
    parts.push(
      h(
        "div",
        { class: "btn-row" },
        h("button", { type: "button", class: "btn btn-s", text: "All theirs", onclick: () => all(false) }),
        h("button", { type: "button", class: "btn btn-s", text: "All mine", onclick: () => all(true) }),
      ),
      h(
        "div",
        { class: "table-box" },
        h("table", { class: "data merge" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows)),
      ),
    );
  }
  if (lost.length) parts.push(...lostPart(lost));
  body.replaceChildren(...parts);
  const apply = dialog.querySelector("[data-merge-apply]");
  apply.onclick = () => {
    dialog.close();
    choose(
      [...choices].map(([conflict, mine]) => ({ conflict, mine })),
      lost,
    );
  };
  if (!dialog.open) dialog.showModal();
}

function lostText(one) {
  if (one.what !== "cell") return one.message || "An edit no longer applies.";
  return `${whereOf(one)} is not there any more; you wrote “${one.yours}”.`;
}

function lostPart(lost) {
  const text = lost.map((one) => JSON.stringify(one.ops ?? one.yours)).join("\n");
  return [
    h("h3", { text: "No longer possible" }),
    h("ul", { class: "bullets" }, ...lost.map((one) => h("li", { text: lostText(one) }))),
    h("label", { class: "form-label", for: "merge-lost", text: "Kept for copying" }),
    h("textarea", { id: "merge-lost", class: "form-control", readOnly: true, spellcheck: false, value: text }),
  ];
}
