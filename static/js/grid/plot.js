/* Small plot of mean surprisal by region, one line per condition, with a table of the values. */

import { h, s, shortBits } from "./dom.js";

const SIZE = { width: 352, height: 208, left: 30, right: 10, top: 10, bottom: 34 };

function ticks(top) {
  const step = [1, 2, 5, 10, 20, 50, 100].find((candidate) => top / candidate <= 5) ?? 200;
  return Array.from({ length: Math.ceil(top / step) + 1 }, (_, k) => k * step);
}

export function drawPlot(box, doc, series, critical) {
  const values = series.flatMap(({ means }) => means).filter((mean) => mean !== null);
  if (!values.length) {
    box.replaceChildren(h("p", { class: "note", text: "The plot appears with the first scored sentence." }));
    return;
  }
  const marks = ticks(Math.max(1, ...values));
  const top = marks.at(-1);
  const { width, height, left, right, bottom } = SIZE;
  const step = (width - left - right) / doc.regions.length;
  const x = (k) => left + step * (k + 0.5);
  const y = (bits) => SIZE.top + (height - SIZE.top - bottom) * (1 - bits / top);
  const title = s("title");
  title.textContent = "Mean surprisal by region and condition";
  const svg = s(
    "svg",
    {
      class: "chart live-plot",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": title.textContent,
    },
    title,
  );
  for (const region of critical) {
    if (region <= doc.regions.length)
      svg.append(
        s("rect", {
          class: "c-band",
          x: x(region - 1) - step / 2,
          y: SIZE.top,
          width: step,
          height: height - SIZE.top - bottom,
        }),
      );
  }
  for (const mark of marks) {
    svg.append(s("line", { class: "c-grid", x1: left, x2: width - right, y1: y(mark), y2: y(mark) }));
    const label = s("text", { class: "c-tick c-end", x: left - 5, y: y(mark) + 4 });
    label.textContent = mark;
    svg.append(label);
  }
  doc.regions.forEach((name, k) => {
    const label = s("text", { class: "c-tick c-mid", x: x(k), y: height - bottom + 15 });
    const room = Math.floor((step - 5) / 6.2);
    label.textContent = name.length > room ? (room > 4 ? `${name.slice(0, room - 1)}…` : k + 1) : name;
    svg.append(label);
  });
  const axis = s("text", { class: "c-muted", x: left, y: height - 3 });
  axis.textContent = "mean bits per region";
  svg.append(axis);
  series.forEach((condition, n) => svg.append(line(condition, n, x, y)));
  box.replaceChildren(svg, key(series), table(doc, series));
}

function line(condition, n, x, y) {
  const group = s("g", { class: `c-s${n % 8}` });
  let path = "";
  condition.means.forEach((bits, k) => {
    if (bits === null) return;
    path += `${path && condition.means[k - 1] !== null ? "L" : "M"}${x(k).toFixed(1)} ${y(bits).toFixed(1)}`;
    group.append(s("circle", { class: "c-fill", cx: x(k).toFixed(1), cy: y(bits).toFixed(1), r: 2.75 }));
  });
  group.prepend(s("path", { class: "c-line c-color", d: path }));
  return group;
}

const key = (series) =>
  h(
    "p",
    { class: "legend plot-key" },
    ...series.map((condition, n) => h("span", { class: `cond cond-${n % 12}`, text: condition.name })),
  );

function table(doc, series) {
  const head = h(
    "tr",
    {},
    h("th", { scope: "col", text: "Region" }),
    ...series.map((condition) => h("th", { scope: "col", class: "num", text: condition.name })),
  );
  const rows = doc.regions.map((name, k) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", text: `${k + 1} ${name}` }),
      ...series.map((condition) =>
        h("td", { class: "num", text: condition.means[k] === null ? "–" : shortBits(condition.means[k]) }),
      ),
    ),
  );
  return h(
    "details",
    { class: "plot-table" },
    h("summary", { class: "note", text: "Values as a table" }),
    h("div", { class: "table-box" }, h("table", { class: "data" }, h("thead", {}, head), h("tbody", {}, ...rows))),
  );
}
