import type { IncomingMessage } from "node:http";

import { Problem } from "../errors.ts";

export interface Credential {
  readonly token: string;
}

/**
 * The token of a request: `Authorization: Bearer` (RFC 6750, section 2.1) or the query's `key`.
 *
 * @throws {Problem} `credentials_ambiguous`, `token_missing`.
 */
export function readCredential(request: IncomingMessage, query: URLSearchParams, acceptKey: boolean): Credential {
  const bearer = bearerToken(request);
  const keys = acceptKey ? query.getAll("key") : [];
  if (keys.length + (bearer === null ? 0 : 1) > 1) {
    throw new Problem("credentials_ambiguous", "the request holds more than one token", {
      hint: "Send it once: as Authorization: Bearer, or as key in the query.",
    });
  }
  if (bearer !== null) return { token: bearer };
  const key = keys[0];
  if (key) return { token: key };
  throw new Problem("token_missing", "the request holds no token", {
    hint: acceptKey
      ? "Send Authorization: Bearer <token>, or key=<token> in the query."
      : "Send Authorization: Bearer <token>.",
  });
}

function bearerToken(request: IncomingMessage): string | null {
  const { authorization } = request.headers;
  if (authorization === undefined) return null;
  // Node gives the first of several Authorization headers; a second one is still a second credential.
  if (request.rawHeaders.filter(isAuthorization).length > 1) {
    throw new Problem("credentials_ambiguous", "the request holds more than one Authorization header");
  }
  const match = /^Bearer +(\S+) *$/i.exec(authorization);
  return match ? match[1]! : null;
}

function isAuthorization(text: string, index: number): boolean {
  return index % 2 === 0 && text.length === "authorization".length && text.toLowerCase() === "authorization";
}
