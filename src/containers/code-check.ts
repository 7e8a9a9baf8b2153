import type { ProblemCode } from "../error-codes.ts";
import { Problem } from "../errors.ts";
import type { Reservation, ContainerManager } from "./container-manager.ts";
import type { Code } from "./guest/code-table.ts";
import type { RunListener } from "./guest/guest-run.ts";
import type { TokenChain } from "./token-quotas.ts";

/**
 * Parses code in a guest, because hostile text attacks the parser first. The service's own process parses no code. The
 * code is not evaluated. The guest belongs to the token in this container, has no other use, and counts as one of the
 * token's containers. The check passes if there is no room for the guest, or if the guest fails for any other reason.
 *
 * @returns whether the code was parsed
 * @throws {Problem} `code_syntax`, `code_shape` of a module that exports no handler, `module_missing`
 */
export async function checkCode(
  containers: Pick<ContainerManager, "reserve" | "release">,
  name: string,
  token: TokenChain,
  submitted: Code,
): Promise<boolean> {
  const reservation = reserve(containers, name, token);
  if (!reservation) return false;
  try {
    const { slot } = reservation;
    const { guest } = slot.warm(performance.now()) ?? (await slot.arrive());
    const code = { ...submitted, parseOnly: true };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    guest.run(code, () => "", listener(resolve, reject), performance.now(), {
      family: token.ancestors.at(-1)?.jti ?? token.jti,
    });
    await promise;
    return true;
  } catch (error) {
    if (error instanceof Problem && REPORTED.has(error.code)) throw error;
    return false;
  } finally {
    containers.release(reservation);
  }
}

/** The faults of code that does not have to run. */
const REPORTED: ReadonlySet<ProblemCode> = new Set<ProblemCode>(["code_syntax", "code_shape", "module_missing"]);

function reserve(containers: Pick<ContainerManager, "reserve">, name: string, token: TokenChain): Reservation | null {
  try {
    return containers.reserve(
      name,
      { isolationKey: `parse ${token.jti}`, fresh: false, net: false },
      token,
      performance.now(),
    );
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}

const ignore = (): void => {};

function listener(resolve: () => void, reject: (problem: Problem) => void): RunListener {
  return {
    result: resolve,
    fault: reject,
    over: resolve,
    head: ignore,
    data: ignore,
    end: ignore,
    refused: ignore,
    usesEgress: ignore,
    logSink: { log: ignore, lateError: ignore },
  };
}
