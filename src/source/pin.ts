import { createHash } from "node:crypto";

import { Problem } from "../errors.ts";

/**
 * Holds code against the one digest that its token permits, before anything of it is read otherwise.
 *
 * @param given the code's UTF-8 bytes as they were sent: a byte-order mark and a first line `#!` count.
 * @param sha256 in lower-case hexadecimal; `null` permits every code.
 * @throws {Problem} `code_pinned`.
 */
export function requirePinned(given: Buffer, modules: object | null, sha256: string | null): void {
  if (sha256 === null) return;
  if (modules !== null) {
    throw new Problem("code_pinned", "the token runs one code, which was pinned without modules", { hint: HINT });
  }
  const found = createHash("sha256").update(given).digest("hex");
  if (found === sha256) return;
  throw new Problem("code_pinned", `the token runs only code of SHA-256 ${sha256}; this one has ${found}`, {
    hint: HINT,
  });
}

const HINT = "Send the code that the token was issued for, byte for byte.";
