import { Problem } from "../errors.ts";
import type { Reservation, ContainerManager } from "./container-manager.ts";
import { codeOf } from "./guest/code-table.ts";
import type { RunListener } from "./guest/guest-run.ts";
import type { TokenChain } from "./token-quotas.ts";

/**
 * Has a guest find out whether code can be read: a parser is what hostile text attacks first, and none is used in this
 * process. Nothing of the code is evaluated. The guest belongs to the token in this container, is used for nothing else, and
 * counts as one of its containers. Where there is no place for it, or it comes to no answer, the code may be anything.
 *
 * @throws {Problem} `code_syntax`
 */
export async function checkCode(
  containers: Pick<ContainerManager, "reserve" | "release">,
  name: string,
  token: TokenChain,
  text: Buffer,
): Promise<void> {
  const place = reserve(containers, name, token);
  if (!place) return;
  try {
    const { slot } = place;
    const { guest } = slot.warm(performance.now()) ?? (await slot.arrive());
    const code = { ...codeOf({ source: text, typescript: false, modules: null }), parseOnly: true };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    guest.run(code, () => "", listener(resolve, reject), performance.now());
    await promise;
  } catch (error) {
    if (error instanceof Problem && error.code === "code_syntax") throw error;
  } finally {
    containers.release(place);
  }
}

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

const nothing = (): void => {};

function listener(resolve: () => void, reject: (problem: Problem) => void): RunListener {
  return {
    result: resolve,
    fault: reject,
    over: resolve,
    head: nothing,
    data: nothing,
    end: nothing,
    refused: nothing,
    logSink: { log: nothing, lateError: nothing },
  };
}
