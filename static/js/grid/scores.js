/* What the preview shows of a region or token: its bits, or how much they differ from those of another condition. Pure. */

import { contrast, heat, shortBits, signed } from "./dom.js";

const tokensIn = (row, region) => row.tokens.filter((token) => token.region_number === region);
const bitsIn = (row, region) => row.region_surprisals[region - 1];
const isScored = (...bits) => bits.every((one) => Number.isFinite(one));
const difference = (bits, other) => (isScored(bits, other) ? bits - other : Number.NaN);
const asDifference = (bits) => ({ value: isScored(bits) ? signed(bits) : "–", look: contrast(bits) });

/* Mean bits of these tokens; NaN if one has none. */
function perToken(tokens) {
  const bits = tokens.map((token) => token.surprisal);
  return isScored(...bits) ? bits.reduce((sum, one) => sum + one, 0) / bits.length : Number.NaN;
}

/**
 * The number of a region and its colour: by bits per token, or by the difference from `baseline`, the row of another
 * condition of the item. A region that is empty in one of the two has no difference. The baseline itself has no colour.
 *
 * @returns {{value: string, look: string}}
 */
export function shownRegion(row, baseline, region) {
  const tokens = tokensIn(row, region);
  const bits = bitsIn(row, region);
  if (!baseline) return { value: shortBits(bits), look: heat(perToken(tokens)) };
  if (row === baseline) return { value: shortBits(bits), look: "" };
  const inBoth = tokens.length && tokensIn(baseline, region).length;
  return asDifference(inBoth ? difference(bits, bitsIn(baseline, region)) : Number.NaN);
}

/**
 * The same for the tokens of a region. Only a token that is also at this place of the region in `baseline` has a
 * difference.
 *
 * @returns {{token: any, value: string, look: string}[]}
 */
export function shownTokens(row, baseline, region) {
  const others = baseline ? tokensIn(baseline, region) : [];
  return tokensIn(row, region).map((token, k) => {
    const bits = token.surprisal;
    if (!baseline) return { token, value: shortBits(bits), look: heat(bits) };
    if (row === baseline) return { token, value: shortBits(bits), look: "" };
    const other = others[k];
    const isSame = other?.token === token.token && other.text === token.text && other.part === token.part;
    return { token, ...asDifference(isSame ? difference(bits, other.surprisal) : Number.NaN) };
  });
}
