/** `!` after a value, which TypeScript removes. `!=` is an operator. */
const ASSERTION = /(?<=[\w$\])])!(?!=)/g;
/** The type of a variable. */
const TYPE = /(\b(?:const|let|var)\s{1,9}[\w$]{1,64}\s{0,9})(:[^=;\n]{1,120})(?==(?![=>]))/g;

/** Returns a text of TypeScript with spaces instead of `!` after a value and of the types of variables. All positions stay. */
export function withoutAssertions(text: string): string {
  return text.replace(ASSERTION, " ").replace(TYPE, (_, name: string, type: string) => name + " ".repeat(type.length));
}
