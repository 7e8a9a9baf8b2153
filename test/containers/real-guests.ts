import { Guest } from "../../src/containers/guest/guest.ts";
import type { TransformText } from "../../src/containers/guest/transform-texts.ts";
import { Problem } from "../../src/errors.ts";
import { sandboxOf, type SandboxOptions } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LIMITS } from "./puppet.ts";

const MIB = 2 ** 20;
export const RESOURCES: SandboxOptions = {
  isolation: "namespaces",
  memoryBytes: 128 * MIB,
  threads: 64,
  cpuCores: 1,
  tmpBytes: 16 * MIB,
  descriptors: 128,
  resultBytes: LIMITS.resultBytes,
  logs: LIMITS.logs,
};

/** Guests in the real sandbox, started as the service starts them. */
export interface RealGuests {
  readonly sandbox: Sandbox;
  /** All guests that were started, including ended guests. */
  readonly made: Set<Guest>;
  make(limits?: { wallMs?: number; streamMs?: number }): Promise<Guest>;
  close(): Promise<void>;
}

export async function openRealGuests(
  resources: Partial<SandboxOptions> = {},
  transform: TransformText | null = null,
): Promise<RealGuests> {
  const sandbox = sandboxOf(await openLocalSandbox({ ...RESOURCES, ...resources }));
  const made = new Set<Guest>();
  return {
    sandbox,
    made,
    make: async (limits) => {
      const guest = new Guest(await sandbox.launch(), { ...LIMITS, ...limits }, undefined, { transform });
      made.add(guest);
      return guest.ready();
    },
    close: async () => {
      for (const guest of made) guest.end(new Problem("container_restarted", "the test is over"));
      await Promise.all([...made].map(({ process }) => process.exited));
      await sandbox.close();
    },
  };
}
