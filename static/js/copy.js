/* Buttons with data-copy="#id": copy that element's text, or a table as tab-separated values. What a table's
   data-copy-note says (scoring rule, intervals) goes into a line below it. */

/* Text that a spreadsheet would take for a formula gets an apostrophe in front, as in CSV files; numbers stay numbers. */
function guard(text) {
  return /^'*[=+\-@＝＋－＠]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
}

export function tableText(table) {
  const clean = (cell) =>
    guard((cell.dataset.copy ?? cell.dataset.value ?? cell.innerText).replace(/\s+/g, " ").trim());
  const rows = [...table.rows].map((row) => [...row.cells].map(clean));
  const note = table.dataset.copyNote;
  if (note) rows.push([note, ...Array(rows[0].length - 1).fill("")]);
  return rows.map((row) => row.join("\t")).join("\n");
}

function textOf(element) {
  if (element instanceof HTMLTableElement) return tableText(element);
  return "value" in element ? element.value : element.textContent.trim();
}

async function put(text) {
  try {
    if (navigator.clipboard && window.isSecureContext) return await navigator.clipboard.writeText(text);
  } catch {
    /* not allowed: try the old way */
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("copying is not allowed here");
}

function announce(text) {
  const region = document.querySelector("#announcer");
  if (region) region.textContent = text;
}

function say(button, text, done) {
  const label = button.querySelector("[data-copy-label]") ?? button;
  label.dataset.before ??= label.textContent;
  label.textContent = text;
  button.classList.toggle("is-done", done);
  announce(text);
  clearTimeout(button.copyTimer);
  button.copyTimer = setTimeout(() => {
    label.textContent = label.dataset.before;
    button.classList.remove("is-done");
  }, 1600);
}

if (typeof document !== "undefined") {
  const reveal = (root) => {
    for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  };
  reveal(document);
  document.addEventListener("htmx:afterSettle", (event) => reveal(event.target));
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("button[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    if (!source) return;
    try {
      await put(textOf(source));
      say(button, "Copied", true);
    } catch {
      say(button, "Select and copy by hand", false);
    }
  });
}
