/* Update names and descriptions made by "Predict effects" when regions move or are renamed. Pure. The wording is that of
   lmgym/suites/effects.py; other text was written by the author and is kept. */

import { references } from "./formula.js";

const MOST = 200; // characters of a name

export const predictionOf = ({ name, words, formula }, region) => ({
  name: `${name}, ${region}`.slice(0, MOST),
  description: words,
  formula,
});

const placed = ({ number, name }) => `at region ${number} (${name})`;
const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const listed = (part) => `${part}(?:, ${part})*(?: and ${part})?`;

/* All texts that effects() can make from these factors about a region. */
function patterns(factors, region) {
  const any = (texts) =>
    `(?:${[...texts]
      .sort((a, b) => b.length - a.length)
      .map(literal)
      .join("|")})`;
  const factor = any(factors.map(({ name }) => name));
  const level = any(factors.flatMap(({ levels }) => levels));
  const contrast = `${factor}(?: \\(${level} vs\\. ${level}\\))?`;
  const within = listed(level);
  const effect = `(?:(?:Main e|E)ffect of ${contrast}(?: within ${within})?|Interaction of ${contrast}(?: × ${contrast})+)`;
  const place = literal(placed(region));
  const degree = (words) => `is (?:${words}) in ${level} than in ${level}`;
  const minus = `(?:${factor}: )?${level} − ${level}`;
  return {
    name: new RegExp(`^(${effect}, )${literal(region.name)}$`, "u"),
    description: [
      `^((?:Within ${within}, s|S)urprisal )${place}( ${degree("higher|lower")}(?:, summed over ${listed(factor)})?\\.)$`,
      `^(The (?:effect|interaction) of ${listed(factor)} \\(${minus}(?:; ${minus})*\\) ${degree("larger|smaller")} )${place}(\\.)$`,
    ].map((text) => new RegExp(text, "u")),
  };
}

/* New name and description of a prediction. move(number) returns the region's new {number, name}, or nothing if it was deleted. */
export function followed({ name, description, formula }, { factors, regions }, move) {
  const [number, ...others] = new Set(references(formula).map(({ region }) => region));
  const after = factors.length && !others.length && regions[number - 1] !== undefined ? move(number) : null;
  if (!after) return { name, description };
  const known = patterns(factors, { number, name: regions[number - 1] });
  const about = known.description.map((pattern) => pattern.exec(description)).find(Boolean);
  return {
    name: known.name.test(name) ? `${known.name.exec(name)[1]}${after.name}`.slice(0, MOST) : name,
    description: about ? `${about[1]}${placed(after)}${about[2]}` : description,
  };
}
