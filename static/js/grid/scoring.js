/* Scoring panel: the metric of region values, and how regions are joined. */

import { setScoring } from "./commands.js";
import { h } from "./dom.js";

const keyOf = (metric) => [metric].flat().join(",");

/* Words of the panel's choices. */
export function scoringInWords({ metric, join }) {
  const words = (name, value) =>
    document.querySelector(`[data-scoring-${name}] option[value="${value}"]`)?.textContent ?? value;
  return `${words("metric", keyOf(metric))}; ${words("join", join)}`;
}

export class ScoringPanel {
  constructor(root, editor) {
    this.editor = editor;
    this.metric = root.querySelector("[data-scoring-metric]");
    this.join = root.querySelector("[data-scoring-join]");
    this.metric.addEventListener("change", () => {
      const chosen = this.metric.value;
      this.set({ metric: chosen.includes(",") ? chosen.split(",") : chosen });
    });
    this.join.addEventListener("change", () => this.set({ join: this.join.value }));
  }

  set(change) {
    if (!this.editor.perform(setScoring(this.editor.doc, change))) this.sync();
  }

  /* Update after a change of the document. Several metrics from a file stay until another one is chosen. */
  sync() {
    const { metric, join } = this.editor.doc;
    const key = keyOf(metric);
    this.metric.value = key;
    if (this.metric.value !== key)
      this.metric.append(h("option", { value: key, text: key.replaceAll(",", ", "), selected: true }));
    this.join.value = join;
  }

  /* Open the panel from a finding of the checks. */
  go() {
    this.join.focus();
    this.join.scrollIntoView({ block: "center" });
  }
}
