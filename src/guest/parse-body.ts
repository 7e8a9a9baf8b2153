import { uncurry } from "../wire/uncurry.ts";
import { MAX_PARSED_BYTES } from "./body-memory.ts";
import { CodeFault, threwFault } from "./faults.ts";
import { JsonPieces, PIECE_CHARS } from "./json-pieces.ts";
import { parseInTurns } from "./parse-in-turns.ts";
import { jsonBytes, textBytes } from "./parsed-bytes.ts";
import { whenSettled } from "./promises.ts";
import type { Run } from "./run.ts";

const { parse } = JSON;
const { create } = Object;
const { isArray } = Array;
const Query = URLSearchParams;
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);
const lowerCase = uncurry(String.prototype as string, "toLowerCase");
const indexOf = uncurry(String.prototype as string, "indexOf");
const Bytes = Uint8Array;
const PLUS = 0x2b;
const SPACE = 0x20;
const find = uncurry(RegExp.prototype, "exec");
const JSON_TYPE = /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/;
const FORM_TYPE = /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/;
/** The beginning of a list or an object in JSON. A form escapes these characters. */
const JSON_BEGINNING = /^\s*[{[]/;
/**
 * The most fields of a form. Anyone may send a form to a public task, and Node needs more memory for the two million fields of four
 * megabytes than a guest has: without this limit, few requests would end the guests of a task again and again.
 */
const MAX_FIELDS = 10_000;

/** Reads the whole body, parses it by the content type of the request, and then calls `step`. */
export function withBody(run: Run, step: () => void): void {
  const { requestBody } = run;
  whenRead(run, requestBody!.readAll(), (bytes) => {
    const type = typeOf(run);
    whenRead(run, requestBody!.memory.holdParsed(parsedBytes(bytes as Uint8Array, type)), () => {
      const pieces = piecesOf(bytes as Uint8Array, type);
      whenRead(run, pieces && parseInTurns(pieces, () => run.over), () => {
        run.setBody(bytes as Uint8Array, bodyOf(bytes as Uint8Array, type, pieces));
        step();
      });
    });
  });
}

/** Calls `step` with the settled value. The run fails if the value is rejected or the step throws. */
function whenRead(run: Run, value: unknown, step: (value: unknown) => void): void {
  const fail = (error: unknown): void => run.fault(threwFault(error));
  whenSettled(
    value,
    (settled) => {
      // A run that waited for memory may have been aborted.
      if (run.over) return;
      try {
        step(settled);
      } catch (error) {
        fail(error);
      }
    },
    fail,
  );
}

/** Whether the body is JSON or a form, rather than text or bytes. */
export function isValue(run: Run): boolean {
  const type = typeOf(run);
  return find(JSON_TYPE, type) !== null || find(FORM_TYPE, type) !== null;
}

function typeOf(run: Run): string {
  return lowerCase(run.request().headers["content-type"] ?? "");
}

/** Returns what the body takes at most when it is parsed, in bytes. @throws {CodeFault} `request_invalid` if that is too much */
function parsedBytes(bytes: Uint8Array, type: string): number {
  const isJson = find(JSON_TYPE, type) !== null || (find(FORM_TYPE, type) !== null && isJsonText(bytes));
  const parsed = isJson ? jsonBytes(bytes) : textBytes(bytes);
  if (parsed <= MAX_PARSED_BYTES) return parsed;
  const mebibytes = Math.floor(MAX_PARSED_BYTES / 2 ** 20);
  throw new CodeFault("request_invalid", `the values of the body may take more than ${mebibytes} MiB of memory`, {
    hint: "Send fewer or larger values, or send the text with the Content-Type text/plain.",
  });
}

function isJsonText(bytes: Uint8Array): boolean {
  return find(JSON_BEGINNING, decode(bytes)) !== null;
}

/** Returns what parses a long body of JSON; null for any other body. */
function piecesOf(bytes: Uint8Array, type: string): JsonPieces | null {
  if (bytes.length <= PIECE_CHARS) return null;
  const isJson = find(JSON_TYPE, type) !== null || (find(FORM_TYPE, type) !== null && isJsonText(bytes));
  return isJson ? new JsonPieces(decode(bytes)) : null;
}

function bodyOf(bytes: Uint8Array, type: string, pieces: JsonPieces | null): unknown {
  if (bytes.length === 0) return undefined;
  if (find(FORM_TYPE, type)) return jsonOf(bytes, pieces) ?? fieldsOf(bytes);
  // The decoder removes a byte-order mark.
  if (!find(JSON_TYPE, type)) return decode(bytes);
  try {
    return pieces ? pieces.result() : parse(decode(bytes));
  } catch (error) {
    if (CodeFault.is(error)) throw error;
    throw new CodeFault("request_invalid", "the body is not JSON", {
      hint: "The content-type header of the request is a type of JSON.",
    });
  }
}

/** Returns the list or the object of a body that states to be a form and is JSON, as `curl -d` sends JSON; null for a form. */
function jsonOf(bytes: Uint8Array, pieces: JsonPieces | null): object | null {
  if (!pieces && !isJsonText(bytes)) return null;
  try {
    return (pieces ? pieces.result() : parse(decode(bytes))) as object;
  } catch (error) {
    if (CodeFault.is(error)) throw error;
    return null;
  }
}

/** Returns the fields of a form by name. The values of a repeated field are an array. */
function fieldsOf(bytes: Uint8Array): Record<string, string | string[]> {
  // Without a prototype, so that no field shadows a member of Object.prototype.
  const fields = create(null) as Record<string, string | string[]>;
  if (hasTooMany(decode(bytes))) {
    throw new CodeFault("request_invalid", `the form has more than ${MAX_FIELDS} fields`, {
      hint: "Send more data as JSON. If the body is no form, send its Content-Type: curl -d states that each body is a form.",
    });
  }
  new Query(decode(withSpaces(bytes))).forEach((value, name) => {
    const previous = fields[name];
    if (previous === undefined) fields[name] = value;
    else if (isArray(previous)) previous[previous.length] = value;
    else fields[name] = [previous, value];
  });
  return fields;
}

/**
 * Returns a copy of a form whose plus signs are the spaces that they mean. For each plus sign, Node keeps a part of the value, which takes
 * thirty times the memory of the text and more than a second for four megabytes of them.
 */
function withSpaces(form: Uint8Array): Uint8Array {
  const bytes = new Bytes(form);
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === PLUS) bytes[at] = SPACE;
  return bytes;
}

function hasTooMany(text: string): boolean {
  let at = -1;
  for (let fields = 1; fields <= MAX_FIELDS; fields += 1) {
    at = indexOf(text, "&", at + 1);
    if (at === -1) return false;
  }
  return true;
}
