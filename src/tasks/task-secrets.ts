import type { MemberFault } from "../members.ts";
import type { Claims } from "../tokens/claims.ts";
import type { Secrets, Vault } from "../tokens/secrets/vault.ts";
import { taskKeepingSecrets } from "./changes.ts";
import type { Definition } from "./definition.ts";
import { ownerOf, type Task } from "./task.ts";

/** Returns faults of secrets that are too large. Secrets that stay are checked too: other secrets may be above them now. */
export async function oversizedSecrets(
  vault: Vault,
  definition: Definition,
  active: Task | null,
  by: Claims,
): Promise<MemberFault[]> {
  const staying = taskKeepingSecrets(definition, active, by);
  const secrets = staying === null ? (definition.secrets ?? {}) : await vault.own(staying.owner);
  return vault.faultsOfSize(by.admin ? null : by, secrets);
}

/** Returns faults of names that a token above already uses. */
export async function overridingSecrets(
  vault: Vault,
  definition: Definition,
  active: Task | null,
  by: Claims,
): Promise<MemberFault[]> {
  const { params } = definition.request;
  const staying = taskKeepingSecrets(definition, active, by);
  // Secrets that stay below the same tokens were checked when they were set.
  const isMoved = staying !== null && staying.caller.claims.parents[0] !== by.jti;
  const secrets = isMoved ? await vault.own(staying.owner) : (definition.secrets ?? {});
  return await vault.overriding(by, { secrets, params });
}

/** Returns the names of the secrets that a change removes, because they belong to the old code and it sets no others. */
export async function droppedSecrets(
  vault: Vault,
  definition: Definition,
  active: Task | null,
  by: Claims,
): Promise<string[]> {
  if (active === null || definition.secrets) return [];
  if (taskKeepingSecrets(definition, active, by) !== null) return [];
  return Object.keys(await vault.own(active.owner));
}

/**
 * Stores the secrets before their code is in force, with a new owner. So the old code never receives the new secrets, and the
 * new code never receives the old ones.
 *
 * @param staying the task whose secrets stay, or null
 * @param newId the id of an owner that has no secrets yet
 * @returns the id of the owner.
 */
export async function storeSecrets(
  vault: Vault,
  definition: Definition,
  claims: Claims,
  staying: Task | null,
  newId: string,
): Promise<string> {
  if (staying?.caller.claims.jti === claims.jti) {
    // The secrets are deleted with the token, which may last longer now.
    const mustMove = staying.caller.claims.exp !== claims.exp;
    if (mustMove) await vault.set(ownerOf(staying.owner.jti, claims), await vault.own(staying.owner));
    return staying.owner.jti;
  }
  const secrets: Secrets = staying ? await vault.own(staying.owner) : (definition.secrets ?? {});
  if (Object.keys(secrets).length > 0) await vault.set(ownerOf(newId, claims), secrets);
  return newId;
}
