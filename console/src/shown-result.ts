import type { AnsweredRunRecord } from "@caisson/client";

import { bytes } from "./format.ts";

type Record = Pick<AnsweredRunRecord, "result" | "resultType" | "resultEncoding" | "resultTruncated">;

/** The text of a result, and a note about what the text does not show. */
export interface ShownResult {
  readonly text: string | null;
  readonly note: string | null;
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/;

/** Returns the result of a run as text: JSON with indents, a text of any other type as it is, and of bytes their number. */
export function shownResult({ result, resultType: type, resultEncoding, resultTruncated }: Record): ShownResult {
  const cut = resultTruncated ? "The record has only the beginning of the result." : null;
  if (result === undefined) return { text: null, note: cut };
  if (resultEncoding !== "base64" || typeof result !== "string")
    return { text: JSON.stringify(result, null, 2) ?? "null", note: cut };
  const raw = Uint8Array.from(atob(result), (character) => character.charCodeAt(0));
  const text = textOf(raw, resultTruncated === true);
  if (text === null) return { text: null, note: `${bytes(raw.length)} of ${type ?? "an unknown type"}` };
  return { text: JSON_TYPE.test(type ?? "") ? indented(text) : text, note: cut };
}

/** Returns null for bytes that are not text. */
function textOf(raw: Uint8Array, isCut: boolean): string | null {
  try {
    // The end of a cut text may be a part of a character.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(raw, { stream: isCut });
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
