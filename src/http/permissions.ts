import { Problem } from "../errors.ts";
import { listed } from "../nearest.ts";
import { type Claims, permitsContainer, permitsVerb, type Verb } from "../tokens/claims.ts";

/** The most containers that an error names. */
const MAX_NAMES = 10;

/**
 * Requires a verb. The error names what the token has, which its holder can also read in it.
 *
 * @param what the subject of the error, such as `reading records`
 * @throws {Problem} `token_forbidden`
 */
export function requireVerb(claims: Claims, verb: Verb, what: string): void {
  if (permitsVerb(claims, verb)) return;
  const hint = `The token has the verbs ${claims.can.join(", ") || "(none)"}. A token that may issue can issue one with ${verb}.`;
  throw new Problem("token_forbidden", `${what} needs the verb ${verb}, which the token does not have`, { hint });
}

/**
 * Requires a container. The answer is the same whether the container exists or not.
 *
 * @throws {Problem} `token_forbidden`
 */
export function requireContainer(claims: Claims, container: string, what: string): void {
  if (permitsContainer(claims, container)) return;
  const hint = `The token is for ${listed(claims.containers, MAX_NAMES)}.`;
  throw new Problem("token_forbidden", `the token does not permit ${what} in this container`, { hint });
}

/** @throws {Problem} `token_forbidden` */
export function requireAdmin(claims: Claims, what: string): void {
  if (claims.admin) return;
  throw new Problem("token_forbidden", `${what} needs the token of an administrator`, {
    hint: "On the machine of the service, caisson token issue --admin makes one.",
  });
}

/**
 * Returns the problem of a token that may not reach another token. The answer is the same whether the other one exists or not.
 *
 * @param permitted what the token may reach, such as `itself and the tokens below it`
 */
export function tokenOutOfReach(what: string, permitted: string): Problem {
  return new Problem("token_forbidden", `the token does not permit ${what} of this jti`, {
    hint: `The token may do this for ${permitted}. An administrator may do it for all tokens.`,
  });
}
