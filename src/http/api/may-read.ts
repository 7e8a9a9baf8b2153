import type { Caller } from "../../tokens/caller.ts";
import { permitsContainer, permitsVerb } from "../../tokens/claims.ts";
import { forbidden } from "./route.ts";

/**
 * Requires that a caller may read what runs left behind. The answer is the same whether the container exists or not.
 *
 * @param container null for all containers of the token
 * @throws {Problem} `token_forbidden`
 */
export function mustRead({ claims }: Caller, container: string | null): void {
  const isPermitted = container === null || permitsContainer(claims, container);
  if (!isPermitted || !permitsVerb(claims, "logs")) throw forbidden();
}

/** Whether a caller may see the code and the input of named tasks in the records of their runs. */
export function seesTasks({ claims }: Caller): boolean {
  return permitsVerb(claims, "tasks");
}
