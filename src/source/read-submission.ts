import { isUtf8 } from "node:buffer";

import { Problem } from "../errors.ts";
import type { Ranges } from "../packages/names.ts";
import { readEnvelope } from "./envelope.ts";
import { requirePinned } from "./pin.ts";
import { isBlank, notUtf8, withoutPreamble } from "./text.ts";

/** The code, modules and data of a request body. */
export interface Submission {
  /** UTF-8, without byte-order mark and first line `#!`. It is a view of the body if the body is the text itself. */
  source: Buffer;
  /** Whether the code was sent as `application/typescript`, or with the name of a TypeScript file. */
  typescript: boolean;
  /** The other modules of an envelope, by relative specifier. */
  modules: Record<string, string> | null;
  /** The packages of an envelope, or null. */
  packages: Ranges | null;
  /**
   * The JSON text of an envelope's `data`, or null if absent. It stays text: a parsed `[{},{},…]` takes thirty times
   * the memory.
   */
  data: string | null;
  /** The options of an envelope, by name; empty for any other body. */
  options: Readonly<Record<string, unknown>>;
}

export interface SubmissionLimits {
  /** The maximum number of bytes of code and modules together. It stops a body that exhausts the memory of guests. */
  codeBytes: number;
  /** The maximum number of levels of arrays and objects. It stops an envelope that exhausts a stack. */
  jsonDepth: number;
  /** The digest of the only code that is accepted, in lower-case hexadecimal. `null` accepts every code. */
  sha256: string | null;
  /** As of `nextTurn`. */
  holder?: string;
  /** The names of options that an envelope may contain. */
  options?: ReadonlySet<string>;
}

/**
 * Reads the code of a request body: `application/json` is an envelope, any other media type is the source itself. Returns a
 * promise only for an envelope, which may take turns of the event loop.
 *
 * @throws {Problem} `request_invalid`, `code_missing`, `code_too_large` or `code_pinned`, thrown or as a rejection
 */
export function readSubmission(
  body: Buffer,
  contentType: string | undefined,
  limits: SubmissionLimits,
): Submission | Promise<Submission> {
  const mediaType = contentType === undefined ? "" : mediaTypeOf(contentType);
  if (mediaType === "application/json") return readEnvelopeBody(body, contentType!, limits);
  rejectForms(mediaType);
  rejectTooLarge(body.length, limits.codeBytes);
  if (!isUtf8(body)) throw notUtf8(body);
  const source = sourceOf(body);
  requirePinned(body, null, limits.sha256);
  return {
    source,
    typescript: mediaType === "application/typescript",
    modules: null,
    packages: null,
    data: null,
    options: {},
  };
}

async function readEnvelopeBody(body: Buffer, contentType: string, limits: SubmissionLimits): Promise<Submission> {
  rejectOtherCharsets(contentType);
  const { jsonDepth, holder, options: names } = limits;
  const { code, modules, packages, data, options } = await readEnvelope(body, jsonDepth, holder, names);
  const bytes = Buffer.from(code);
  let size = bytes.length;
  for (const text of Object.values(modules ?? {})) size += Buffer.byteLength(text);
  rejectTooLarge(size, limits.codeBytes);
  const source = sourceOf(bytes);
  requirePinned(bytes, modules ?? packages, limits.sha256);
  return { source, typescript: isTypeScript(options["file"]), modules, packages, data, options };
}

/** An envelope has no media type for its code, but its author may name the file. */
function isTypeScript(file: unknown): boolean {
  return typeof file === "string" && /\.[cm]?tsx?$/i.test(file);
}

/**
 * Rejects forms with parts. Their text is never code. A form of `application/x-www-form-urlencoded` is accepted, because
 * curl declares this type for the code that `--data` sends.
 */
function rejectForms(mediaType: string): void {
  if (!mediaType.startsWith("multipart/")) return;
  throw new Problem("request_invalid", `the body is a form with parts (${mediaType.slice(0, 64)}), and not code`, {
    hint: "Send the code itself as the body, as curl does with --data-binary @task.js and not with -F.",
  });
}

function mediaTypeOf(contentType: string): string {
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** Rejects other charsets, because JSON is UTF-8 between systems (RFC 8259, 8.1). */
function rejectOtherCharsets(contentType: string): void {
  for (const [, charset] of contentType.matchAll(/;\s*charset\s*=\s*"?([^";\s]*)/gi)) {
    if (/^utf-?8$/i.test(charset!)) continue;
    throw new Problem(
      "request_invalid",
      `the body declares the charset ${JSON.stringify(charset)}; JSON must be UTF-8`,
    );
  }
}

function rejectTooLarge(bytes: number, most: number): void {
  if (bytes > most) throw new Problem("code_too_large", `the code has ${bytes} bytes; at most ${most} are accepted`);
}

/** Curl removes the line ends of a file with `-d @file`, and then all of the code is in the line that begins with `#!`. */
const ONE_LINE =
  "The code has only a first line, which begins with #! and is a comment: put the code in the lines after it, and send a file with curl --data-binary @task.js and not with -d.";

function sourceOf(bytes: Buffer): Buffer {
  const source = withoutPreamble(bytes);
  if (isBlank(source)) {
    const isOneLine = /^\uFEFF?#!./.test(bytes.toString("utf8", 0, 8));
    throw new Problem("code_missing", "the code is blank", {
      hint: isOneLine
        ? ONE_LINE
        : "The code is empty or has only white space: check the file or the variable that it comes from.",
    });
  }
  return source;
}
