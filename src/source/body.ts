import { isUtf8 } from "node:buffer";

import { Problem } from "../errors.ts";
import { readEnvelope } from "./envelope.ts";
import { requirePinned } from "./pin.ts";
import { isBlank, withoutPreamble } from "./text.ts";

/** What a request body brought. */
export interface Submission {
  /** UTF-8, without byte-order mark and first line `#!`; a view of the body where the body is the text itself. */
  source: Buffer;
  /** Sent as `application/typescript`. */
  typescript: boolean;
  /** Further modules of an envelope, by relative specifier. */
  modules: Record<string, string> | null;
  /** `data` of an envelope as JSON, or null when there is none. As text: `[{},{},…]` takes thirty times as much when it is built. */
  data: string | null;
}

export interface SubmissionLimits {
  /** The most bytes of code, modules counted, so that no body exhausts the memory of guests. */
  codeBytes: number;
  /** The most levels of arrays and objects, so that no envelope exhausts a stack. */
  jsonDepth: number;
  /** Of the only code that is taken, in lower-case hexadecimal; `null` takes every code. */
  sha256: string | null;
  /** As of `nextTurn`. */
  holder?: string;
}

/**
 * Takes the code from a request body: `application/json` is an envelope, everything else is the source itself.
 *
 * @throws {Problem} `request_invalid`, `code_missing`, `code_too_large` or `code_pinned`.
 */
export async function readSubmission(
  body: Buffer,
  contentType: string | undefined,
  limits: SubmissionLimits,
): Promise<Submission> {
  const mediaType = contentType === undefined ? "" : mediaTypeOf(contentType);
  if (mediaType === "application/json") {
    refuseOtherCharsets(contentType!);
    const { code, modules, data } = await readEnvelope(body, limits.jsonDepth, limits.holder);
    const bytes = Buffer.from(code);
    let size = bytes.length;
    for (const text of Object.values(modules ?? {})) size += Buffer.byteLength(text);
    refuseTooLarge(size, limits.codeBytes);
    const source = sourceOf(bytes);
    requirePinned(bytes, modules, limits.sha256);
    return { source, typescript: false, modules, data };
  }
  refuseTooLarge(body.length, limits.codeBytes);
  if (!isUtf8(body)) throw new Problem("request_invalid", "the body is not UTF-8", { hint: "Send the code in UTF-8." });
  const source = sourceOf(body);
  requirePinned(body, null, limits.sha256);
  return { source, typescript: mediaType === "application/typescript", modules: null, data: null };
}

function mediaTypeOf(contentType: string): string {
  const end = contentType.indexOf(";");
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** JSON is UTF-8 between systems (RFC 8259, 8.1); a charset that says otherwise would have to be believed or ignored. */
function refuseOtherCharsets(contentType: string): void {
  for (const [, charset] of contentType.matchAll(/;\s*charset\s*=\s*"?([^";\s]*)/gi)) {
    if (/^utf-?8$/i.test(charset!)) continue;
    throw new Problem(
      "request_invalid",
      `the body says charset ${JSON.stringify(charset)}; JSON is read as UTF-8 only`,
    );
  }
}

function refuseTooLarge(bytes: number, most: number): void {
  if (bytes > most) throw new Problem("code_too_large", `the code has ${bytes} bytes; at most ${most} are taken`);
}

function sourceOf(bytes: Buffer): Buffer {
  const source = withoutPreamble(bytes);
  if (isBlank(source)) {
    throw new Problem("code_missing", "the code is blank", {
      hint: "Send code as the request body, or name it with task_url.",
    });
  }
  return source;
}
