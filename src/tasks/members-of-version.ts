import type { Claims } from "../tokens/claims.ts";
import { limitsToRequest } from "./definition.ts";
import { unpacked } from "./task-code.ts";
import type { Task } from "./task.ts";

/**
 * Returns the members of a request that defines a stored version again. Its secrets are not stored with it.
 *
 * @param storedCode the code as the store has it; null if the code is fetched
 * @param by the token of the request
 */
export function membersOf(version: Task, storedCode: string | null, by: Claims): object {
  const { caller, public: isPublic, errors, record, packed, labels, description, tool, input, packages } = version;
  const { net, fresh, params, code, timeout } = caller.claims;
  const limits = limitsToRequest(caller.claims, by);
  return {
    ...(storedCode === null ? code : unpacked(storedCode, packed)),
    ...{ limits, timeout, net, fresh, params, public: isPublic },
    ...{ errors, record, labels, description, tool, input, packages },
  };
}
