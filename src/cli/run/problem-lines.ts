interface ProblemDocument {
  readonly code?: unknown;
  readonly detail?: unknown;
  readonly hint?: unknown;
  readonly error?: { readonly stack?: unknown };
}

/**
 * Returns a problem document as lines for a terminal, or the text itself if it is not a problem document.
 *
 * @param file the name of the submitted file, for the frames of the stack; null if its lines are not the submitted ones
 */
export function problemLines(document: string, file: string | null = null): string[] {
  const { code, detail, hint, error } = parse(document);
  if (typeof detail !== "string") return document.split("\n");
  // The first lines of the stack are the name and message of the error, which the detail contains.
  const stack = typeof error?.stack === "string" ? error.stack.split("\n").filter((line) => /^\s+at /.test(line)) : [];
  const frames = file === null ? stack : stack.map((line) => line.replaceAll(/\btask\.[jt]s(?=:\d+:\d+)/g, () => file));
  const lines = [`${String(code)}: ${detail}`, ...frames, ...(typeof hint === "string" ? [hint] : [])];
  return lines.flatMap((line) => line.split("\n"));
}

/** Replaces control characters, because the code chooses the messages and a terminal executes control sequences. */
export function withoutControls(line: string): string {
  return line.replaceAll(/(?!\t)\p{Cc}/gu, "\u{FFFD}");
}

function parse(document: string): ProblemDocument {
  try {
    return Object(JSON.parse(document)) as ProblemDocument;
  } catch {
    return {};
  }
}
