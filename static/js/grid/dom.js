/* Helpers that build elements without markup in strings. */

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.startsWith("aria") && name !== "role" && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const DRAWINGS = {
  check: "M4.5 12.5l5 5 10-11",
  cross: "M6 6l12 12M18 6L6 18",
  equal: "M5 9h14M5 15h14",
  dash: "M5 12h14",
  alert: "M12 4 2.5 20h19zM12 10v4.5M12 17.4v.1",
  info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5.5M12 7.6v.1",
  plus: "M12 5v14M5 12h14",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
};

export function icon(name) {
  const svg = s("svg", { class: `icon icon-${name}`, viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" });
  svg.append(s("path", { d: DRAWINGS[name] ?? DRAWINGS.info }));
  return svg;
}

export const OUTCOMES = [
  ["mark-false", "cross", "failed"],
  ["mark-true", "check", "held"],
  ["mark-tie", "equal", "tie"],
  ["mark-none", "dash", "not evaluable"],
];

/* Arrow keys move between the buttons of a list and wrap around. */
export function arrows(list, back = "ArrowUp", on = "ArrowDown") {
  list.addEventListener("keydown", (event) => {
    const all = [...list.querySelectorAll("button")];
    const at = all.indexOf(document.activeElement);
    const to = { [on]: at + 1, [back]: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length].focus();
  });
}

/* Announce a text to screen readers, even if it repeats the previous announcement. */
export function announce(text) {
  const region = document.querySelector("#announcer");
  if (!region) return;
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

export function debounce(wait, action) {
  let timer = null;
  const later = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = null;
      action(...args);
    }, wait);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

export const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

const HEAT_EDGES = [1, 2, 4, 6, 8, 10, 13, 16]; // bits; as in the other tables of the site
export const heat = (bits) => (Number.isFinite(bits) ? `h${HEAT_EDGES.filter((edge) => bits >= edge).length}` : "");
const CONTRAST_EDGES = [0.5, 2, 4, 8]; // bits; as in the legend of the preview
export function contrast(bits) {
  if (!Number.isFinite(bits)) return "";
  const step = CONTRAST_EDGES.filter((edge) => Math.abs(bits) >= edge).length;
  return `d${bits < 0 && step ? "-" : ""}${step}`;
}

export function signed(bits) {
  const text = Math.abs(bits).toFixed(1);
  return Number(text) === 0 ? text : `${bits < 0 ? "−" : "+"}${text}`;
}

/* A name that may be broken after the signs that join its words. */
export const breakable = (name) => name.split(/(?<=[_./:-])/).flatMap((part, k) => (k ? [h("wbr"), part] : [part]));

/* A text in a sentence of ours, in its own direction. */
export const isolated = (text) => `\u2068${text}\u2069`;

export const condClass = (place) => `cond-${place % 12}`;
export const shortBits = (bits) => (Number.isFinite(bits) ? bits.toFixed(1) : "–");
