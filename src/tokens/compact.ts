import { z } from "zod";

import { Problem } from "../errors.ts";
import { ALGORITHM, MAX_TOKEN_BYTES, TYPE } from "./format.ts";

/** What a compact JWS says, its signature not yet checked. */
export interface Compact {
  kid: string;
  payload: unknown;
}

/**
 * Takes a token apart (RFC 7515, compact serialization) and refuses all that this service does not write, before any
 * key or signature is looked at.
 *
 * @throws {Problem} `token_invalid`
 */
export function readCompact(token: string): Compact {
  if (token.length > MAX_TOKEN_BYTES) {
    throw invalid(`the token is ${token.length} characters long, where ${MAX_TOKEN_BYTES} are allowed`);
  }
  // A part more than allowed is enough to refuse it: a text of nothing but dots must not become an array.
  const [header, payload, signature, rest] = token.split(".", 4);
  if (!header || !payload || !signature || rest !== undefined || !SIGNATURE.test(signature)) throw malformed();
  return { kid: kidOf(decode(header)), payload: decode(payload) };
}

/** 64 bytes in base64url. The last character carries four bits that must be zero, or one signature has 16 spellings. */
const SIGNATURE = /^[A-Za-z0-9_-]{85}[AQgw]$/;

/**
 * JSON from base64url, in the one spelling that this service writes. That one comparison refuses padding, other alphabets,
 * bits left over, broken UTF-8, white space and members given twice.
 */
function decode(part: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(part, "base64url").toString());
    if (Buffer.from(JSON.stringify(value)).toString("base64url") === part) return value;
  } catch {
    // Not JSON, or nested too deeply to be written again: refused below like the others.
  }
  throw malformed();
}

const headerSchema = z.strictObject({ alg: z.literal(ALGORITHM), typ: z.literal(TYPE), kid: z.string() });

function kidOf(header: unknown): string {
  const parsed = headerSchema.safeParse(header);
  if (parsed.success) return parsed.data.kid;
  const members = new Set(parsed.error.issues.map(({ path }) => path[0]));
  if (members.has("alg"))
    throw invalid(`the algorithm of the token is not ${ALGORITHM}, the only one that is accepted`);
  if (members.has("typ")) throw invalid(`the type of the token is not ${TYPE}: it was made for another purpose`);
  throw invalid("the header of the token must have alg, typ and kid, and nothing else");
}

function malformed(): Problem {
  return invalid("the token is not a compact JWT as this service writes it: three parts of base64url between dots");
}

function invalid(detail: string): Problem {
  return new Problem("token_invalid", detail, {
    hint: "Copy the token again, whole, or ask an administrator for a new one.",
  });
}
