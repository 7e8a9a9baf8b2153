import type { IncomingMessage } from "node:http";

import { Problem } from "../../errors.ts";
import type { Claims } from "../../tokens/claims.ts";
import { requireContainer, requireVerb } from "../permissions.ts";

/** Destinations for which a browser would execute or embed the answer of a task in the page of another site. */
const REFUSED_DESTINATIONS = new Set(["script", "style", "worker", "sharedworker", "serviceworker", "object", "embed"]);

/** @throws {Problem} `request_invalid` when a page loads the result as a part of itself. */
export function refuseAsSubresource(request: IncomingMessage): void {
  const destination = request.headers["sec-fetch-dest"];
  if (typeof destination !== "string" || !REFUSED_DESTINATIONS.has(destination)) return;
  throw new Problem("request_invalid", `a result is data; a page cannot load it as ${destination}`);
}

/** @throws {Problem} `token_forbidden` that states what the token permits, which its holder can also read in it */
export function authorize(claims: Claims, container: string): void {
  requireVerb(claims, "run", "a run");
  requireContainer(claims, container, "runs");
}
