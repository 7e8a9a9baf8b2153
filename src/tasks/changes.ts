import { isDeepStrictEqual } from "node:util";

import { allowsNoMore } from "../tokens/attenuate.ts";
import type { Claims } from "../tokens/claims.ts";
import type { Definition, Given } from "./definition.ts";
import { pinOf, type Task } from "./task.ts";

/**
 * The task as it was, when a change leaves its secrets as they are; else null, and the secrets go. Other code never gets
 * them. A token that has neither set them nor stands above the one that has keeps them only in a task that lets nobody do
 * more with them than before: with other params or another net the same code could be had to give them away, and a task that
 * becomes public, runs more often or lasts longer would spend them for others.
 */
export function stayingSecrets(definition: Definition, kept: Task | null, by: Claims): Task | null {
  const { secrets, request } = definition;
  if (!kept || secrets !== null || !isDeepStrictEqual(pinOf(kept), request.code)) return null;
  if (by.admin || kept.secretsBy.includes(by.jti)) return kept;
  return opensNothing(definition, kept) ? kept : null;
}

function opensNothing(
  { public: isPublic, request }: Definition,
  { public: wasPublic, caller: { claims } }: Task,
): boolean {
  return (
    isDeepStrictEqual(request.params, claims.params) &&
    isDeepStrictEqual(request.net, claims.net) &&
    (wasPublic || !isPublic) &&
    (request.fresh || !claims.fresh) &&
    (claims.exp === null || (request.exp !== null && request.exp <= claims.exp)) &&
    allowsNoMore(request.limits.token, claims.limits.token) &&
    allowsNoMore(request.limits.container, claims.limits.container)
  );
}

/**
 * Whether all that is said is so already. Then the task stays as it is, below whom it is: a look at it by a PUT of nothing
 * would make it end with the token that looked. Secrets are never compared.
 */
export function changesNothing(given: Given, kept: Task): boolean {
  const { claims } = kept.caller;
  const { sha256Of, url, sha256, secrets, expiresIn } = given;
  if (secrets !== undefined || expiresIn !== undefined) return false;
  const pin = pinOf(kept);
  const isSameCode = sha256Of === null ? !kept.inline : kept.inline && sha256Of === pin.sha256;
  const said: [unknown, unknown][] = [
    [url, pin.url],
    [sha256, pin.sha256],
    [given.public, kept.public],
    [given.fresh, claims.fresh],
    [given.params, claims.params],
    [given.limits === null ? {} : given.limits, claims.limits],
    [given.net, claims.net],
    [given.exp, claims.exp],
  ];
  return isSameCode && said.every(([wanted, is]) => wanted === undefined || isDeepStrictEqual(wanted, is));
}
