import { createHash } from "node:crypto";

import { Problem } from "../errors.ts";

/**
 * Requires that code has the digest that its token permits. Callers check this before they read the code.
 *
 * @param code the UTF-8 bytes as they were sent, with byte-order mark and first line `#!`.
 * @param more the modules or packages that were sent with the code, or null
 * @param sha256 the permitted digest in lower-case hexadecimal; `null` permits every code.
 * @throws {Problem} `code_pinned`.
 */
export function requirePinned(code: Buffer, more: object | null, sha256: string | null): void {
  if (sha256 === null) return;
  if (more !== null) {
    throw new Problem("code_pinned", "the token permits a single code, which was pinned without modules and packages", {
      hint: HINT,
    });
  }
  const digest = createHash("sha256").update(code).digest("hex");
  if (digest === sha256) return;
  throw new Problem("code_pinned", `the token permits only code with SHA-256 ${sha256}; this code has ${digest}`, {
    hint: HINT,
  });
}

const HINT =
  "Send the code that the token was issued for, byte for byte: curl --data removes line ends, --data-binary keeps them.";
