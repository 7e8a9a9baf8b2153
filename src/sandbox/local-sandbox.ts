import type { Socket } from "node:net";

import type { LogLimits } from "../wire/log-allowance.ts";
import type { GuestKind } from "./guest-kinds.ts";
import type { GuestHandle, GuestProcess, IsolationLevel, Sandbox, SandboxFacts } from "./sandbox.ts";

/** The resources that one guest may use. The guest receives the limits of results and logs as arguments. */
export interface GuestResources {
  readonly memoryBytes: number;
  readonly threads: number;
  readonly cpuCores: number;
  readonly tmpBytes: number;
  readonly descriptors: number;
  /** The maximum size of a buffered result. */
  readonly resultBytes: number;
  readonly logs: LogLimits;
}

export interface SandboxOptions extends GuestResources {
  /** `auto` takes the strongest level that this system supports, but never `none`. */
  readonly isolation: "auto" | IsolationLevel;
  /**
   * The maximum number of guests at the same time; by default there is no maximum. It is far above the service's own limit.
   * It stops a service that has a bug, or that an attacker controls, from starting unlimited processes.
   */
  readonly mostGuests?: number;
}

/** @throws {Error} if the maximum number of guests is already running. */
export function checkGuestLimit(alive: number, { mostGuests = Infinity }: Pick<SandboxOptions, "mostGuests">): void {
  if (alive < mostGuests) return;
  throw new Error(`no process could be started: ${alive} guests are running, which is the maximum`);
}

/** The implementation of an isolation level. Its guests are child processes of this process. */
export interface LocalSandbox {
  readonly facts: SandboxFacts;
  /**
   * @param frames the guest's end of its connection to the service, or `pipe` to create a connection.
   * @param kind the default is `task`. What another kind needs is prepared when its first guest starts.
   * @throws {Error} if no process can be started.
   */
  start(frames: "pipe" | Socket, kind?: GuestKind): StartedGuest;
  /** The same as `Cgroups.prefer`. */
  prefer(pids: readonly number[]): Promise<void>;
  /** Removes the files and groups of the level. All guests must have ended. */
  close(): Promise<void>;
}

export interface StartedGuest extends GuestHandle {
  /** The service's end of the connection, or null if the caller passed its own connection. */
  readonly socket: Socket | null;
}

/** Returns a sandbox that starts guests as child processes of this process. */
export function sandboxOf(local: LocalSandbox, options: Pick<SandboxOptions, "mostGuests"> = {}): Sandbox {
  const guests = new Set<GuestHandle>();
  let closed = false;
  return {
    facts: local.facts,
    launch: async (kind = "task") => {
      if (closed) throw new Error("no process could be started: the sandbox is closed");
      checkGuestLimit(guests.size, options);
      const guest = local.start("pipe", kind) as GuestProcess;
      guests.add(guest);
      void guest.exited.then(() => guests.delete(guest));
      return guest;
    },
    close: async () => {
      closed = true;
      await endAll(guests);
      await local.close();
    },
  };
}

/** Kills guests and waits until the kernel has removed them, so that their control groups can be removed too. */
export async function endAll(guests: Iterable<GuestHandle>): Promise<void> {
  const ending = [...guests];
  for (const guest of ending) guest.kill();
  await Promise.all(ending.map(({ exited }) => exited));
}
