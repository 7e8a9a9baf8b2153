import { z } from "zod";

import { Problem } from "../errors.ts";
import { ALGORITHM, MAX_TOKEN_BYTES, SIGNATURE_CHARS, TYPE } from "./token-format.ts";

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
  if (!CHARACTERS.test(token)) throw notThreeParts(token);
  const [header, payload, signature, rest] = token.split(".", 4);
  if (!header || !payload || !signature || rest !== undefined) throw notThreeParts(token);
  const kid = kidOf(decode(header));
  if (!SIGNATURE.test(signature)) throw incomplete(signature);
  return { kid, payload: decode(payload) };
}

const CHARACTERS = /^[A-Za-z0-9_.=-]+$/;
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

const OTHER_SERVICE = "Another service issued this token. Ask an administrator of this service for one.";
const headerSchema = z.strictObject({ alg: z.literal(ALGORITHM), typ: z.literal(TYPE), kid: z.string() });

function kidOf(header: unknown): string {
  const parsed = headerSchema.safeParse(header);
  if (parsed.success) return parsed.data.kid;
  const members = new Set(parsed.error.issues.map(({ path }) => path[0]));
  if (members.has("alg")) {
    throw invalid(`the algorithm of the token is not ${ALGORITHM}, the only accepted one`, OTHER_SERVICE);
  }
  if (members.has("typ")) {
    throw invalid(`the type of the token is not ${TYPE}: it was made for another purpose`, OTHER_SERVICE);
  }
  throw invalid("the header of the token must have alg, typ and kid, and nothing else");
}

function malformed(): Problem {
  return invalid("the token is not a compact JWT of this service: its parts are not JSON in base64url");
}

function incomplete(signature: string): Problem {
  const fault = signature.length < SIGNATURE_CHARS ? "its end is missing" : "it has other characters at its end";
  return invalid(`the token is not complete, or not alone: ${fault}`);
}

/** The texts that languages write for a value that is not there. */
const NO_VALUES = new Set(["undefined", "null", "None", "nil", "NaN", "true", "false"]);

/** Names the usual mistake, and repeats nothing of the text, which may be a secret. */
function notThreeParts(token: string): Problem {
  if (NO_VALUES.has(token)) {
    return invalid(`the token is the text ${token}`, "Check the variable that holds the token in the client.");
  }
  if (/^["'`]|["'`]$/.test(token)) return invalid("the token is in quotes", "Send the token without quotes.");
  if (/\s/.test(token)) {
    return invalid("the token contains white space or a line end", "Send the token without white space around it.");
  }
  if (/^\$[\w({]/.test(token)) {
    return invalid(
      "the token is the name of a variable, and not its value",
      'A shell puts in the value of a variable in double quotes, not in single quotes: -H "Authorization: Bearer $TOKEN". JavaScript does in backticks.',
    );
  }
  if (/^[<${[]/.test(token)) {
    return invalid("the token is a placeholder or JSON", "Send the member token of the answer that issued it.");
  }
  if (/[/\\]|\.token$/.test(token)) {
    return invalid(
      "the token has characters of a path, such as a slash",
      'Send the content of the file: in a shell, "$(cat FILE)".',
    );
  }
  return invalid("the token is not a compact JWT of this service: three parts of base64url, separated by dots");
}

const COPY_AGAIN = "Copy the token again, whole, or ask an administrator for a new one.";

function invalid(detail: string, hint: string = COPY_AGAIN): Problem {
  return new Problem("token_invalid", detail, { hint });
}
