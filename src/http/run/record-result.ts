import { checkJson } from "../../source/json.ts";
import type { AnswerBody, Outcome } from "./execution.ts";

/** The result of a run as its record shows it. */
export interface RecordResult {
  /** JSON text: the result itself, or a string of base64 if the result is not JSON. */
  readonly json: string;
  readonly isTruncated: boolean;
}

/** A run without a result. */
export const NO_RESULT: RecordResult = { json: "null", isTruncated: false };

/** A result nests at most this deep. A deeper one is shown as bytes. */
const MAX_DEPTH = 1_000;
const BYTE_ORDER_MARK = 0xfeff;

/**
 * Reads the result of a run. A body is read to its end or its failure, but only its beginning is kept.
 *
 * @param mostBytes the bytes of the result that are shown
 * @param holder as of `nextTurn`
 */
export async function readResult(outcome: Outcome, mostBytes: number, holder: string): Promise<RecordResult> {
  if ("json" in outcome) return await resultOf(outcome.json, mostBytes, false, true, holder);
  const { head, body } = outcome;
  const { bytes, isWhole } = await collect(body, mostBytes);
  return await resultOf(bytes, mostBytes, !isWhole, isJson(head.headers), holder);
}

async function collect(body: AnswerBody, mostBytes: number): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let kept = 0;
  let isWhole = true;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const room = mostBytes - kept;
      if (chunk.length > room) isWhole = false;
      if (room <= 0) continue;
      chunks.push(chunk.subarray(0, room));
      kept += Math.min(room, chunk.length);
    }
  } catch {
    // The record has the failure that cut the body.
    isWhole = false;
  }
  return { bytes: Buffer.concat(chunks), isWhole };
}

async function resultOf(
  bytes: Buffer,
  mostBytes: number,
  isCut: boolean,
  isJsonType: boolean,
  holder: string,
): Promise<RecordResult> {
  const isTruncated = isCut || bytes.length > mostBytes;
  const shown = bytes.subarray(0, mostBytes);
  if (!isJsonType) return { json: `"${shown.toString("base64")}"`, isTruncated };
  // The beginning of a JSON text is no JSON, so it is shown as a text.
  if (isTruncated) return { json: JSON.stringify(shown.toString()), isTruncated };
  return { json: (await checkedJson(shown, holder)) ?? `"${shown.toString("base64")}"`, isTruncated };
}

/** Returns the text if it is JSON, otherwise null: a guest can send any bytes, and they become a part of the record. */
async function checkedJson(bytes: Buffer, holder: string): Promise<string | null> {
  try {
    await checkJson(bytes, MAX_DEPTH, holder);
    const text = bytes.toString();
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  } catch {
    return null;
  }
}

/** @param headers name, value, name, value */
function isJson(headers: readonly string[]): boolean {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === "content-type");
  return at >= 0 && /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i.test(headers[at + 1]!.trim());
}
