import type { Token } from "./scan-tokens.ts";

/** A variable of a destructuring pattern, with the names that lead to it. */
export interface Pattern {
  readonly path: readonly string[];
  readonly variable: string;
  readonly hasDefault: boolean;
}

/** Deeper patterns are not read. */
const MAX_DEPTH = 4;

/** Returns the variables of the pattern whose opening brace is at an index. Computed names and rests are left out. */
export function patternAt(tokens: readonly Token[], opening: number, path: readonly string[] = []): readonly Pattern[] {
  const found: Pattern[] = [];
  const depth = (tokens[opening]?.depth ?? 0) + 1;
  let index = opening + 1;
  while (index < tokens.length && tokens[index]!.depth >= depth) {
    const token = tokens[index]!;
    const next = tokens[index + 1]?.text;
    if (token.kind === "word" && tokens[index - 1]?.text !== ".") {
      const inner = [...path, token.text];
      if (next === ":" && tokens[index + 2]?.text === "{") {
        if (inner.length < MAX_DEPTH) found.push(...patternAt(tokens, index + 2, inner));
      } else {
        const at = next === ":" ? index + 2 : index;
        const variable = tokens[at];
        if (variable?.kind === "word")
          found.push({ path: inner, variable: variable.text, hasDefault: tokens[at + 1]?.text === "=" });
      }
    }
    // The next member begins after a comma of this pattern.
    while (index < tokens.length && !(tokens[index]!.depth === depth && tokens[index]!.text === ",")) {
      if (tokens[index]!.depth < depth) return found;
      index += 1;
    }
    index += 1;
  }
  return found;
}
