import type { ResultHint } from "../wire/result-hints.ts";

/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;
const FOR_EACH = /\.forEach\(\s*async\b/;
/** Bundles read NODE_ENV and do without it. */
const ENVIRONMENT = /\bprocess\.env(?:\.(?!NODE_ENV\b)[A-Za-z_]|\[["'])/;

/** What a text is likely to have meant if its result is empty. */
export interface EmptyHints {
  /** For null or nothing. */
  readonly nothing: ResultHint | null;
  /** For 0 and for a list or an object without members. */
  readonly empty: ResultHint | null;
}

const NONE: EmptyHints = { nothing: null, empty: null };

/** Returns the hints of a text for empty results. Never throws. */
export function emptyHintsOf(text: string): EmptyHints {
  try {
    if (text.length > MAX_CHARACTERS) return NONE;
    return {
      nothing: ENVIRONMENT.test(text) ? "environment" : null,
      empty: FOR_EACH.test(text) ? "forEach" : null,
    };
  } catch {
    // A task has replaced a method of patterns.
    return NONE;
  }
}
