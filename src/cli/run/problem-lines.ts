interface Told {
  readonly code?: unknown;
  readonly detail?: unknown;
  readonly hint?: unknown;
  readonly error?: { readonly stack?: unknown };
}

/** What a problem document says to somebody who reads a terminal; or the text itself when it is none. */
export function problemLines(document: string): string[] {
  const { code, detail, hint, error } = parse(document);
  if (typeof detail !== "string") return document.split("\n");
  // Its first lines are the error's name and message, which the detail has told.
  const stack = typeof error?.stack === "string" ? error.stack.split("\n").filter((line) => /^\s+at /.test(line)) : [];
  const lines = [`${String(code)}: ${detail}`, ...stack, ...(typeof hint === "string" ? [hint] : [])];
  return lines.flatMap((line) => line.split("\n"));
}

/** Messages are the code's own, and a terminal obeys what is written to it. */
export function withoutControls(line: string): string {
  return line.replaceAll(/(?!\t)\p{Cc}/gu, "\u{FFFD}");
}

function parse(document: string): Told {
  try {
    return Object(JSON.parse(document)) as Told;
  } catch {
    return {};
  }
}
