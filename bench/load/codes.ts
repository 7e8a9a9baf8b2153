/** A text to run, in which a number can change. */
export interface Code {
  readonly before: string;
  readonly after: string;
}

/** The number in a text that is always the same. */
export const SAME = 1_001;

/** Returns the text with this number. */
export function textOf({ before, after }: Code, number: number = SAME): string {
  return `${before}${number}${after}`;
}

/** The forms of code that agents and people send. */
export type Form = "body" | "expression" | "module" | "arrow" | "commonjs";

/** About 200 bytes of typical code in each form. The number is in the middle, because no text may be recognised by its start. */
export const CODES: Readonly<Record<Form, Code>> = {
  body: {
    before: `// Six of the one and half a dozen of the other: a small function as a customer would paste it.
const order = `,
    after: `;
const price = 6;
const pieces = 7;
const total = price * pieces;
if (total < 0) throw new Error("no");
return total;`,
  },
  expression: {
    before: `/* Six of the one and half a dozen of the other: an expression as a customer would paste it. */
[{ order: `,
    after: `, price: 6, pieces: 7 }]
  .map(({ price, pieces }) => price * pieces)
  .reduce((sum, total) => sum + total, 0)`,
  },
  module: {
    before: `// Six of the one and half a dozen of the other: a small module as an agent would write it.
const order = `,
    after: `;
const price = 6;
const pieces = 7;

export default async function main(context) {
  const total = price * pieces;
  if (total < 0) throw new Error("no");
  return total;
}`,
  },
  arrow: {
    before: `async (context) => {
  // Six of the one and half a dozen of the other: a small function as an agent would write it.
  const order = `,
    after: `;
  const price = 6;
  const pieces = 7;
  const total = price * pieces;
  if (total < 0) throw new Error("no");
  return total;
}`,
  },
  commonjs: {
    before: `// Six of the one and half a dozen of the other: a small module of an older kind.
const order = `,
    after: `;
const price = 6;
const pieces = 7;

module.exports = async function main(context) {
  const total = price * pieces;
  if (total < 0) throw new Error("no");
  return total;
};`,
  },
};
