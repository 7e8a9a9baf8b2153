import { safeMap } from "./safe-map.ts";

/** The start of each expression as `line:column`, by code id, if it is not the start of the text. */
const starts = safeMap<number, string>();

/** @param lead The number of characters before the expression: white space, comments and semicolons. */
export function noteStart(codeId: number, text: string, lead: number): void {
  if (lead === 0) return;
  const before = text.slice(0, lead).split("\n");
  starts.set(codeId, `${before.length}:${before.at(-1)!.length + 1}`);
}

export function forgetStart(codeId: number): void {
  starts.delete(codeId);
}

/**
 * Rewrites the positions in a stack as the author sees them. The URL `task:/<code>/<name>` of a submitted
 * module becomes its name. For some faults of an expression, mostly an unknown name at its start, V8 gives the position of
 * the `return` that the wrapper added: a column below 1. It becomes the start of the expression.
 */
export function asSubmitted(text: string): string {
  return text
    .replace(/task:\/(\d+)((?:\.\d+)?\/[^\s:()]+):1:(?:0|-\d+)(?!\d)/g, (_, id: string, rest: string) => {
      return `task:/${id}${rest}:${starts.get(Number(id)) ?? "1:1"}`;
    })
    .replace(/task:\/[\d.]+\//g, "");
}
