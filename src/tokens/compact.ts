import { z } from "zod";

import { Problem } from "../errors.ts";
import { ALGORITHM, MAX_TOKEN_BYTES, TYPE } from "./format.ts";

/** The content of a compact JWS, before the check of its signature. */
export interface Compact {
  kid: string;
  payload: unknown;
}

/**
 * Parses a token (RFC 7515, compact serialization). Rejects everything that this service does not write, before it looks up a
 * key or checks a signature.
 *
 * @throws {Problem} `token_invalid` when the text is not a token of this service.
 */
export function readCompact(token: string): Compact {
  if (token.length > MAX_TOKEN_BYTES) {
    throw invalid(`the token is ${token.length} characters long; at most ${MAX_TOKEN_BYTES} are allowed`);
  }
  // One extra part is enough to reject the text: a text of only dots must not become a huge array.
  const [header, payload, signature, rest] = token.split(".", 4);
  if (!header || !payload || !signature || rest !== undefined || !SIGNATURE.test(signature)) throw malformed();
  return { kid: kidOf(decode(header)), payload: decode(payload) };
}

/** 64 bytes in base64url. The last character carries four bits that must be zero, or one signature has 16 spellings. */
const SIGNATURE = /^[A-Za-z0-9_-]{85}[AQgw]$/;

/**
 * Decodes JSON from base64url in the spelling that this service writes. The comparison rejects padding, other alphabets,
 * surplus bits, invalid UTF-8, white space and duplicate members.
 */
function decode(part: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(part, "base64url").toString());
    if (Buffer.from(JSON.stringify(value)).toString("base64url") === part) return value;
  } catch {
    // The text is not JSON, or too deeply nested to serialize. It is rejected below.
  }
  throw malformed();
}

const headerSchema = z.strictObject({ alg: z.literal(ALGORITHM), typ: z.literal(TYPE), kid: z.string() });

function kidOf(header: unknown): string {
  const parsed = headerSchema.safeParse(header);
  if (parsed.success) return parsed.data.kid;
  const members = new Set(parsed.error.issues.map(({ path }) => path[0]));
  if (members.has("alg")) throw invalid(`the algorithm of the token is not ${ALGORITHM}, the only accepted one`);
  if (members.has("typ")) throw invalid(`the type of the token is not ${TYPE}: it was made for another purpose`);
  throw invalid("the header of the token must have alg, typ and kid, and nothing else");
}

function malformed(): Problem {
  return invalid("the token is not a compact JWT of this service: three parts of base64url, separated by dots");
}

function invalid(detail: string): Problem {
  return new Problem("token_invalid", detail, {
    hint: "Copy the token again, whole, or ask an administrator for a new one.",
  });
}
