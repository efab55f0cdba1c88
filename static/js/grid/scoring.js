/* How the suite is scored: what a region's value is, and how regions are joined. */

import { setScoring } from "./commands.js";
import { h } from "./dom.js";

const keyOf = (metric) => [metric].flat().join(",");

/* As the panel's choices say it. */
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

  /* After any change of the document. A file may ask for several metrics: they stay until another one is chosen. */
  sync() {
    const { metric, join } = this.editor.doc;
    const key = keyOf(metric);
    this.metric.value = key;
    if (this.metric.value !== key)
      this.metric.append(h("option", { value: key, text: key.replaceAll(",", ", "), selected: true }));
    this.join.value = join;
  }

  /* Where advice of the linter leads to. */
  go() {
    this.join.focus();
    this.join.scrollIntoView({ block: "center" });
  }
}
