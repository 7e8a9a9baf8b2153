import { isDeepStrictEqual } from "node:util";

import { allowsNoMore, isNoLonger } from "../tokens/attenuate.ts";
import type { Claims } from "../tokens/claims.ts";
import { type Definition, nonEmpty, type TaskChange } from "./definition.ts";
import { pinOf, type Task } from "./task.ts";

/**
 * Returns the active task if a change keeps its secrets, otherwise null. Different code never gets them. A caller that neither
 * set them nor stands above the token that set them keeps them only if the change extends the task in no way. With other params
 * or another net, the same code could give the secrets away. Other packages are other code. A task that becomes public, runs more often or lasts longer would
 * use them for other callers. A task that shows its errors or keeps its inputs reveals data that only other code could reveal
 * otherwise, and other code gets no secrets.
 */
export function taskKeepingSecrets(definition: Definition, active: Task | null, by: Claims): Task | null {
  const { secrets, request } = definition;
  if (!active || secrets !== null || !isDeepStrictEqual(pinOf(active), request.code)) return null;
  if (by.admin || active.secretsBy.includes(by.jti)) return active;
  return extendsNothing(definition, active) ? active : null;
}

function extendsNothing(
  { public: isPublic, errors, record, packages, update, request }: Definition,
  {
    public: wasPublic,
    errors: previousErrors,
    record: previousRecord,
    packages: previousPackages,
    caller: { claims },
  }: Task,
): boolean {
  return (
    isDeepStrictEqual(request.params, claims.params) &&
    isDeepStrictEqual(request.net, claims.net) &&
    isDeepStrictEqual(packages, previousPackages) &&
    update.length === 0 &&
    (wasPublic || !isPublic) &&
    (previousErrors === "shown" || errors === "hidden") &&
    (previousRecord === "input" || record === null) &&
    (request.fresh || !claims.fresh) &&
    (claims.exp === null || (request.exp !== null && request.exp <= claims.exp)) &&
    isNoLonger(request.timeout, claims.timeout) &&
    allowsNoMore(request.limits.token, claims.limits.token) &&
    allowsNoMore(request.limits.container, claims.limits.container)
  );
}

/**
 * Returns whether the request changes nothing. Then the task stays as it is, below the same token. A PUT that changes nothing
 * would otherwise move the task below the calling token, and end it with that token. Secrets are never compared.
 */
export function changesNothing(request: TaskChange, active: Task): boolean {
  const { claims } = active.caller;
  const { sha256Of, url, sha256, secrets, expiresIn } = request;
  if (secrets !== undefined || expiresIn !== undefined) return false;
  const pin = pinOf(active);
  const isSameCode = sha256Of === null ? !active.inline : active.inline && sha256Of === pin.sha256;
  const members: [unknown, unknown][] = [
    [url, pin.url],
    [sha256, pin.sha256],
    [request.public, active.public],
    [request.errors, active.errors],
    [request.record, active.record],
    [request.tool, active.tool],
    [request.input, active.input],
    [request.packages && nonEmpty(request.packages), active.packages],
    [request.labels === null ? {} : request.labels, active.labels],
    [request.description, active.description],
    [request.fresh, claims.fresh],
    [request.params, claims.params],
    [request.limits === null ? {} : request.limits, claims.limits],
    [request.timeout, claims.timeout],
    [request.net, claims.net],
    [request.exp, claims.exp],
  ];
  return isSameCode && members.every(([wanted, is]) => wanted === undefined || isDeepStrictEqual(wanted, is));
}
