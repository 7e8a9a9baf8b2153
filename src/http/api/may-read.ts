import type { Caller } from "../../tokens/caller.ts";
import { permitsVerb } from "../../tokens/claims.ts";
import { requireContainer, requireVerb } from "../permissions.ts";

/**
 * Requires that a caller may read what runs left behind. The answer is the same whether the container exists or not.
 *
 * @param container null for all containers of the token
 * @throws {Problem} `token_forbidden`
 */
export function mustRead({ claims }: Caller, container: string | null): void {
  requireVerb(claims, "logs", "reading records of runs");
  if (container !== null) requireContainer(claims, container, "reading records of runs");
}

/** Whether a caller may see the code and the input of named tasks in the records of their runs. */
export function seesTasks({ claims }: Caller): boolean {
  return permitsVerb(claims, "tasks");
}
