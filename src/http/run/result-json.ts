import { StringDecoder } from "node:string_decoder";

import { Slices } from "../../next-turn.ts";
import type { RecordResult } from "./record-result.ts";

/** A part of an answer: a text, or the JSON of a result. */
export type AnswerPart = string | RecordResult;

/** The bytes of JSON that are written in one step. */
const JSON_BYTES = 65_536;
/**
 * The bytes that are written as a string in one step. A multiple of 3, so that the pieces of base64 fit together, and so few
 * that V8 does not treat their text as a large object.
 */
const STRING_BYTES = 3 * 2 ** 12;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;

/**
 * Yields the text of the parts in pieces. The JSON of a result may be six times as long as the result and can appear twice in
 * one answer, so it is made while the client reads it, and never exists as a whole.
 */
export function* piecesOf(parts: readonly AnswerPart[]): Generator<string | Buffer> {
  for (const part of parts) {
    if (typeof part === "string") yield part;
    else if (part.form === "json") yield* slicesOf(part.bytes, JSON_BYTES);
    else yield* quoted(part);
  }
}

/** Returns the whole text of the parts. A piece of bytes may end within a character. */
export function textOf(parts: readonly AnswerPart[]): string {
  return Buffer.concat(
    piecesOf(parts)
      .map((piece) => Buffer.from(piece))
      .toArray(),
  ).toString();
}

/**
 * Returns the number of bytes of the text of the parts.
 *
 * @param holder as of `nextTurn`
 * @param isGone whether the answer is not needed any more
 */
export async function lengthOf(parts: readonly AnswerPart[], holder: string, isGone: () => boolean): Promise<number> {
  const slices = new Slices(holder);
  let length = 0;
  for (const part of parts) {
    if (typeof part === "string") length += Buffer.byteLength(part);
    else if (part.form === "json") length += part.bytes.length;
    else if (part.form === "base64") length += 2 + 4 * Math.ceil(part.bytes.length / 3);
    else {
      for (const piece of quoted(part)) {
        length += Buffer.byteLength(piece);
        if (slices.hasEnded) await slices.next();
        if (isGone()) return length;
      }
    }
  }
  return length;
}

/** Replaces the line breaks of JSON by spaces, in place: they are only between tokens. @param holder as of `nextTurn` */
export async function joinLines(json: Buffer, holder: string): Promise<void> {
  const slices = new Slices(holder);
  for (const piece of slicesOf(json, JSON_BYTES)) {
    if (json.length > JSON_BYTES && slices.hasEnded) await slices.next();
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at];
      if (byte === NEWLINE || byte === RETURN) piece[at] = SPACE;
    }
  }
}

/** Yields a JSON string: the text of the bytes, or their base64. */
function* quoted({ bytes, form }: RecordResult): Generator<string> {
  const decoder = new StringDecoder("utf8");
  yield '"';
  for (const piece of slicesOf(bytes, STRING_BYTES)) {
    if (form === "base64") yield piece.toString("base64");
    else yield escaped(decoder.write(piece));
  }
  yield `${escaped(decoder.end())}"`;
}

function* slicesOf(bytes: Buffer, length: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
