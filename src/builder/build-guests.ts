import { once } from "node:events";

import { ESBUILD_HOST, MAX_ARTEFACT_BYTES, MAX_HEAD_BYTES, REGISTRY_HOST } from "../bundler/build-messages.ts";
import { ConnectionShares } from "../egress/connection-shares.ts";
import { type Egress, NO_EGRESS } from "../egress/egress.ts";
import { Problem } from "../errors.ts";
import type { GuestProcess, Sandbox } from "../sandbox/sandbox.ts";
import { answerOf } from "./guest-answer.ts";
import type { RegistryProxy } from "./registry-proxy.ts";

const MAX_BYTES = MAX_HEAD_BYTES + MAX_ARTEFACT_BYTES;
/** The bytes that a builder may send and receive: all packages of a build, and all of them again to esbuild. */
const NETWORK_BYTES = 2 ** 30;
const CONNECTIONS = 32;

/**
 * Executes one order: starts a builder and esbuild, both blank, connects them, and ends both. Neither is used again, because the
 * packages of an order may have taken them over.
 *
 * @param proxy what the builder reaches as its registry; null for an order that needs none.
 * @returns the bytes of the builder's answer, which are hostile.
 * @throws {Problem}
 */
export async function executeOrder(
  sandbox: Pick<Sandbox, "launch">,
  program: Buffer,
  order: unknown,
  proxy: RegistryProxy | null,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<Buffer> {
  await using esbuild = await launch(sandbox, "esbuild");
  await using builder = await launch(sandbox, "builder");
  const sealed = sealEsbuild(esbuild.process);
  // Awaited when the builder connects; until then, suppress the unhandled-rejection warning.
  sealed.catch(() => {});
  let isTaken = false;
  const egress: Egress = {
    ...NO_EGRESS,
    limits: { connections: CONNECTIONS, bytes: NETWORK_BYTES, timeMs: deadlineMs },
    // Half of it, which one family may have, are all that its run may open.
    connections: new ConnectionShares(2 * CONNECTIONS),
    counts: { ...NO_EGRESS.counts },
    inside: (host) => {
      if (host === REGISTRY_HOST) return proxy?.connect() ?? null;
      if (host !== ESBUILD_HOST || isTaken) return null;
      isTaken = true;
      return esbuild.process.socket;
    },
  };
  const bounds = { maxBytes: MAX_BYTES, deadlineMs };
  await Promise.race([sealed, aborted(signal)]);
  return await answerOf(builder.process, egress, program, order, bounds, signal);
}

/** Puts esbuild under its limits when it has started, which it shows by its first bytes. They stay unread. */
async function sealEsbuild(process: GuestProcess): Promise<void> {
  const ended = process.exited.then(({ how }) => {
    throw new Problem("packages_unavailable", "esbuild could not be started", { cause: new Error(how) });
  });
  ended.catch(() => {});
  await Promise.race([once(process.socket, "readable"), ended]);
  await process.seal();
  process.setPriority("normal");
}

async function launch(
  sandbox: Pick<Sandbox, "launch">,
  kind: "builder" | "esbuild",
): Promise<AsyncDisposable & { readonly process: GuestProcess }> {
  try {
    const process = await sandbox.launch(kind);
    process.socket.on("error", () => {});
    const end = async (): Promise<void> => {
      process.kill();
      process.socket.destroy();
      await process.exited;
    };
    return { process, [Symbol.asyncDispose]: end };
  } catch (error) {
    throw new Problem("packages_unavailable", "no guest that builds packages could be started", { cause: error });
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, "abort");
  throw signal.reason;
}
