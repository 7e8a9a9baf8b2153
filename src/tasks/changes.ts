import { isDeepStrictEqual } from "node:util";

import type { Claims } from "../tokens/claims.ts";
import type { Definition, Given } from "./definition.ts";
import { pinOf, type Task } from "./task.ts";

/**
 * The task as it was, where a change leaves its secrets as they are. Other code would be given them, and with other params,
 * or a wider net, the same code could be had to give them away: that only who has set them, or stands above that one, may
 * do and have them stay.
 */
export function stayingSecrets({ secrets, request }: Definition, kept: Task | null, by: Claims): Task | null {
  const { code, params, net } = request;
  if (!kept || secrets !== null || !isDeepStrictEqual(pinOf(kept), code)) return null;
  if (by.admin || kept.secretsBy.includes(by.jti)) return kept;
  return isDeepStrictEqual(params, kept.claims.params) && isDeepStrictEqual(net, kept.claims.net) ? kept : null;
}

/**
 * Whether all that is said is so already. Then the task stays as it is, below whom it is: a look at it by a PUT of nothing
 * would make it end with the token that looked. Secrets are never compared.
 */
export function changesNothing(given: Given, kept: Task): boolean {
  const { claims } = kept;
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
