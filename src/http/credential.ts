import type { IncomingMessage } from "node:http";

import { Problem } from "../errors.ts";
import { occurrences } from "./raw-headers.ts";

export interface Credential {
  readonly token: string;
}

/**
 * Returns the token of a request, from `Authorization: Bearer` (RFC 6750, section 2.1) or from `key` in the query.
 *
 * @param acceptKey whether the operator allows `key` in the query
 * @param more a further sentence for a request without a token
 * @throws {Problem} `credentials_ambiguous`, `token_missing`
 */
export function readCredential(
  request: IncomingMessage,
  query: URLSearchParams,
  acceptKey: boolean,
  more: string = "",
): Credential {
  const bearer = bearerToken(request);
  const keys = acceptKey ? query.getAll("key") : [];
  if (keys.length + (bearer === null ? 0 : 1) > 1) {
    throw new Problem("credentials_ambiguous", "the request contains more than one token", {
      hint: "Send the token once: as Authorization: Bearer, or as key in the query.",
    });
  }
  if (bearer !== null) return { token: bearer };
  const key = keys[0];
  if (key) return { token: key };
  throw new Problem("token_missing", missingToken(request.headers, query), {
    hint: `Send Authorization: Bearer <token>${acceptKey ? ", or key=<token> in the query" : ""}.${more}`,
  });
}

function bearerToken(request: IncomingMessage): string | null {
  const { authorization } = request.headers;
  if (authorization === undefined) return null;
  // Node returns only the first of several Authorization headers; a second header is still a second credential.
  if (occurrences(request.rawHeaders, "authorization") > 1) {
    throw new Problem("credentials_ambiguous", "the request contains more than one Authorization header", {
      hint: "Send one Authorization header, with one token.",
    });
  }
  const match = /^Bearer +(\S+) *$/i.exec(authorization);
  return match ? match[1]! : null;
}

/** Describes what a request has instead of a token. The text never contains the value, which may be a token. */
function missingToken(headers: IncomingMessage["headers"], query: URLSearchParams): string {
  const { authorization } = headers;
  if (authorization === undefined) return `the request contains no token${otherPlace(headers, query)}`;
  if (authorization.trim() === "") return "the Authorization header is empty";
  // Node removes white space at the end.
  if (/^Bearer$/i.test(authorization)) {
    return "the Authorization header has no token after Bearer; is the variable of the shell empty?";
  }
  const [, scheme] = /^([A-Za-z][A-Za-z0-9-]{0,31}) /.exec(authorization) ?? [];
  if (scheme === undefined) return "the Authorization header has no scheme in front of its value";
  if (/^Bearer +Bearer\b/i.test(authorization)) return "the Authorization header has the word Bearer twice";
  return scheme.toLowerCase() === "bearer"
    ? `the Authorization header has more than one text after Bearer${/^Bearer +\$\(/i.test(authorization) ? "; the shell runs $(...) only in double quotes, or outside of quotes" : ""}`
    : `the Authorization header has the scheme ${scheme}, and not Bearer`;
}

const OTHER_HEADERS = ["x-api-key", "api-key", "x-auth-token", "x-access-token"];
const OTHER_PARAMETERS = ["token", "access_token", "api_key", "apikey"];

/** Names a place in which other services read a token. */
function otherPlace(headers: IncomingMessage["headers"], query: URLSearchParams): string {
  const header = OTHER_HEADERS.find((name) => headers[name] !== undefined);
  if (header !== undefined) return `; the service reads none from the header ${header}`;
  const parameter = OTHER_PARAMETERS.find((name) => query.has(name));
  return parameter === undefined ? "" : `; the service reads none from the parameter ${parameter}`;
}
