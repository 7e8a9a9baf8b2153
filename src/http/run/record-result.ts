import { isUtf8 } from "node:buffer";

import { nextTurn } from "../../next-turn.ts";
import { JsonScanner } from "../../source/json-scanner.ts";
import type { AnswerBody, Outcome } from "./execution.ts";
import { ResultBytes } from "./result-bytes.ts";

/** The result of a run as its record shows it. `piecesOf` makes its JSON. */
export interface RecordResult {
  readonly bytes: Buffer;
  /** Whether the bytes are JSON already, or are shown as a string of their text or of their base64. */
  readonly form: "json" | "text" | "base64";
  readonly isTruncated: boolean;
}

export interface ResultOptions {
  /** The bytes of the result that are shown. */
  readonly mostBytes: number;
  /** As of `nextTurn`. */
  readonly holder: string;
  /** Receives the memory that the result uses, as it grows. */
  readonly grow: (bytes: number) => void;
  /** Whether the record is not needed any more. */
  readonly isGone: () => boolean;
}

/** A run without a result. */
export const NO_RESULT: RecordResult = { bytes: Buffer.from("null"), form: "json", isTruncated: false };

/** A result nests at most this deep. A deeper one is shown as bytes. */
const MAX_DEPTH = 1_000;
/** The bytes that are checked in one turn of the event loop, which takes one or two milliseconds. */
const BYTES_A_TURN = 256 * 2 ** 10;
const BYTE_ORDER_MARK = Buffer.from("\ufeff");

/** Reads the result of a run. A body is read to its end or its failure, but only its beginning is kept. */
export async function readResult(outcome: Outcome, options: ResultOptions): Promise<RecordResult> {
  if ("json" in outcome) {
    options.grow(outcome.json.length);
    return await resultOf(outcome.json, false, true, options);
  }
  const { head, body } = outcome;
  const { bytes, isWhole } = await collect(body, options);
  return await resultOf(bytes, !isWhole, isJson(head.headers), options);
}

async function collect(
  body: AnswerBody,
  { mostBytes, grow, isGone }: ResultOptions,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const kept = new ResultBytes(mostBytes, grow);
  let isWhole = true;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (!kept.add(chunk)) isWhole = false;
      // Without a client, the memory is released at once.
      if (isGone()) return { bytes: NO_RESULT.bytes, isWhole: true };
    }
  } catch {
    // The record has the failure that cut the body.
    isWhole = false;
  }
  return { bytes: kept.bytes, isWhole };
}

async function resultOf(
  bytes: Buffer,
  isCut: boolean,
  isJsonType: boolean,
  { mostBytes, holder, isGone }: ResultOptions,
): Promise<RecordResult> {
  const isTruncated = isCut || bytes.length > mostBytes;
  const shown = bytes.subarray(0, mostBytes);
  // The beginning of a JSON text is not JSON, so it is shown as a text.
  if (isTruncated) return { bytes: shown, form: isJsonType ? "text" : "base64", isTruncated };
  const json = withoutMark(shown);
  const form = isJsonType && (await isJsonText(json, holder, isGone)) ? "json" : "base64";
  return { bytes: form === "json" ? json : shown, form, isTruncated };
}

/**
 * Whether the bytes are JSON: a guest can send any bytes, and they become a part of the record. `checkJson` would go on with
 * the text of a client that has left, which holds memory that does not count any more.
 */
async function isJsonText(bytes: Buffer, holder: string, isGone: () => boolean): Promise<boolean> {
  if (!isUtf8(bytes)) return false;
  const scanner = new JsonScanner(bytes, MAX_DEPTH);
  try {
    if (bytes.length > BYTES_A_TURN) await nextTurn(holder);
    while (!isGone()) {
      if (scanner.advance(BYTES_A_TURN)) return true;
      await nextTurn(holder);
    }
  } catch {
    // `MalformedJson` and `DeepJson`.
  }
  return false;
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes;
}

/** @param headers name, value, name, value */
function isJson(headers: readonly string[]): boolean {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === "content-type");
  return at >= 0 && /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i.test(headers[at + 1]!.trim());
}
