/** The original position of a segment. All members count from 0. */
export interface Segment {
  readonly source: number;
  readonly line: number;
  readonly column: number;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const COMMA = 0x2c;
const SEMICOLON = 0x3b;
/** Of the six bits of a digit, the highest means that another digit follows. */
const CONTINUES = 32;
const DIGIT_BITS = 5;
const MAX_SHIFT = 30;
const NO_DIGIT = 255;

const valueOf = new Uint8Array(128).fill(NO_DIGIT);
for (let digit = 0; digit < DIGITS.length; digit += 1) valueOf[DIGITS.charCodeAt(digit)] = digit;

/**
 * Finds the segment of a source map (ECMA-426) that a generated position is in: the last one of its line that begins at or
 * before the column. Reads the text up to that position and stores nothing. Returns null if there is no such segment, if it
 * has no original, or if the text before it is malformed.
 *
 * @param mappings The member `mappings` of the map.
 * @param line From 0.
 * @param column From 0.
 */
export function find(mappings: string, line: number, column: number): Segment | null {
  const state = [0, 0, 0, 0, 0];
  let generatedLine = 0;
  let found: Segment | null = null;
  let field = 0;
  for (let at = 0; at <= mappings.length;) {
    const unit = at < mappings.length ? mappings.charCodeAt(at) : SEMICOLON;
    if (unit !== COMMA && unit !== SEMICOLON) {
      let shift = 0;
      let value = 0;
      let digit = CONTINUES;
      while ((digit & CONTINUES) !== 0) {
        digit = at < mappings.length ? (valueOf[mappings.charCodeAt(at)] ?? NO_DIGIT) : NO_DIGIT;
        if (digit === NO_DIGIT || shift > MAX_SHIFT || field >= state.length) return null;
        value |= (digit & (CONTINUES - 1)) << shift;
        shift += DIGIT_BITS;
        at += 1;
      }
      state[field]! += (value & 1) === 0 ? value >>> 1 : -(value >>> 1);
      field += 1;
      continue;
    }
    if (field > 0 && generatedLine === line) {
      if (state[0]! > column) return checked(found);
      found = field >= 4 ? { source: state[1]!, line: state[2]!, column: state[3]! } : null;
    }
    field = 0;
    if (unit === SEMICOLON) {
      if (generatedLine === line) return checked(found);
      generatedLine += 1;
      state[0] = 0;
    }
    at += 1;
  }
  return null;
}

function checked(segment: Segment | null): Segment | null {
  return segment && segment.source >= 0 && segment.line >= 0 && segment.column >= 0 ? segment : null;
}
