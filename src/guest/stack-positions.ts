import { safeMap } from "./safe-map.ts";

/** Where the expression of a code begins, as `line:column`, where that is not the start of its text. */
const starts = safeMap<number, string>();

/** @param lead How many characters stand before the expression: blanks and comments. */
export function noteStart(codeId: number, text: string, lead: number): void {
  if (lead === 0) return;
  const before = text.slice(0, lead).split("\n");
  starts.set(codeId, `${before.length}:${before.at(-1)!.length + 1}`);
}

export function forgetStart(codeId: number): void {
  starts.delete(codeId);
}

/**
 * What an author knows of the places in a text: submitted modules have the URL `task:/<code>/<name>`, and are known by name.
 * V8 gives some faults of an expression, above all an unknown name at its start, the place of the `return` before it,
 * which the wrapper added: a column below 1.
 */
export function asSubmitted(text: string): string {
  return text
    .replace(/task:\/(\d+)((?:\.\d+)?\/[^\s:()]+):1:(?:0|-\d+)(?!\d)/g, (_, id: string, rest: string) => {
      return `task:/${id}${rest}:${starts.get(Number(id)) ?? "1:1"}`;
    })
    .replace(/task:\/[\d.]+\//g, "");
}
