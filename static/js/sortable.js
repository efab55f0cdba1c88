/* Tables with data-sortable: headings become buttons. Without scripts the table keeps the server's order.
   A cell may have a data-value for sorting; a heading with data-nosort stays text. Empty values sort last. */

export function cellValue(cell) {
  const raw = (cell?.dataset.value ?? cell?.textContent ?? "").trim();
  if (raw === "" || raw === "–") return null;
  const number = Number(raw.replace(/[%,\s]/g, "").replace("−", "-"));
  return Number.isNaN(number) ? raw.toLocaleLowerCase() : number;
}

export function compare(a, b, direction) {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === "number" && typeof b === "number") return (a - b) * direction;
  return String(a).localeCompare(String(b), undefined, { numeric: true }) * direction;
}

function sortBy(table, column, direction) {
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => row.cells.length > column);
    const keyed = rows.map((row) => [cellValue(row.cells[column]), row]);
    keyed.sort((left, right) => compare(left[0], right[0], direction));
    body.append(...keyed.map(([, row]) => row));
  }
}

function enhance(table) {
  if (table.dataset.sortableReady) return;
  table.dataset.sortableReady = "yes";
  const headings = [...(table.tHead?.rows[0]?.cells ?? [])];
  headings.forEach((heading, column) => {
    if (heading.dataset.nosort !== undefined || heading.colSpan > 1) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const first = heading.classList.contains("num") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = heading.getAttribute("aria-sort") === first ? other : first;
      for (const one of headings) one.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", order);
      sortBy(table, column, order === "ascending" ? 1 : -1);
    });
  });
}

export function enhanceAll(root = document) {
  for (const table of root.querySelectorAll("table[data-sortable]")) enhance(table);
}

if (typeof document !== "undefined") {
  enhanceAll();
  document.addEventListener("htmx:afterSettle", (event) => enhanceAll(event.target));
}
