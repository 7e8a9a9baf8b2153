import type { IncomingMessage } from "node:http";

import { Problem } from "../../errors.ts";
import { type Claims, permitsContainer, permitsVerb } from "../../tokens/claims.ts";

/** Destinations for which a browser would execute or embed the answer of a task in the page of another site. */
const REFUSED_DESTINATIONS = new Set(["script", "style", "worker", "sharedworker", "serviceworker", "object", "embed"]);

/** @throws {Problem} `request_invalid` when a page loads the result as a part of itself. */
export function refuseAsSubresource(request: IncomingMessage): void {
  const destination = request.headers["sec-fetch-dest"];
  if (typeof destination !== "string" || !REFUSED_DESTINATIONS.has(destination)) return;
  throw new Problem("request_invalid", `a result is data; a page cannot load it as ${destination}`);
}

/** The most containers that an error names. */
const MAX_NAMES = 10;

/** @throws {Problem} `token_forbidden` that says what the token permits, which its holder can also read in it */
export function authorize(claims: Claims, container: string): void {
  if (!permitsVerb(claims, "run")) {
    const hint = `The token has the verbs ${claims.can.join(", ") || "(none)"}. A token that may issue can issue one with run.`;
    throw new Problem("token_forbidden", "the token does not have the verb run", { hint });
  }
  if (permitsContainer(claims, container)) return;
  const names = claims.containers.slice(0, MAX_NAMES).join(", ");
  const further = claims.containers.length - MAX_NAMES;
  const hint = `The token is for ${names}${further > 0 ? ` and ${further} more` : ""}.`;
  throw new Problem("token_forbidden", "the token does not permit runs in this container", { hint });
}
