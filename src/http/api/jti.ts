import { Problem } from "../../errors.ts";
import { isJti } from "../../tokens/claims.ts";
import { decode } from "../target.ts";

/** @throws {Problem} `request_invalid` unless the segment, percent-decoded once, has the form of a jti */
export function jtiOf(segment: string): string {
  const jti = decode(segment);
  if (jti !== null && isJti(jti)) return jti;
  if (isCredential(jti ?? segment)) {
    throw new Problem("request_invalid", "the path has a token itself, and not the jti of a token", {
      hint: "POST /api/tokens/introspect with the form token=<token> answers with its jti.",
    });
  }
  throw new Problem("request_invalid", `${JSON.stringify(jti ?? segment).slice(0, 160)} is not the jti of a token`, {
    hint: "A jti is a UUID in lower case. The answer to POST /api/tokens and GET /api/tokens contain it.",
  });
}

/** Whether a text begins as a JWT does: `{"` in base64url. An answer does not repeat a credential. */
function isCredential(text: string): boolean {
  return /^(?:Bearer )?eyJ/.test(text);
}

export function noSuchToken(): Problem {
  return new Problem("not_found", "no token with this jti is stored here; it may have ended long ago", {
    hint: "GET /api/tokens lists the stored tokens.",
  });
}
