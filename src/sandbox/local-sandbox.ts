import type { Socket } from "node:net";

import type { LogLimits } from "../wire/log-allowance.ts";
import type { GuestHandle, GuestProcess, IsolationLevel, Sandbox, SandboxFacts } from "./sandbox.ts";

/** What one guest may use, and what it is told about itself. */
export interface GuestResources {
  readonly memoryBytes: number;
  readonly threads: number;
  readonly cpuCores: number;
  readonly tmpBytes: number;
  readonly descriptors: number;
  /** Of a buffered result. */
  readonly resultBytes: number;
  readonly logs: LogLimits;
}

export interface SandboxOptions extends GuestResources {
  /** `auto` takes the strongest level that this system has, and never `none`. */
  readonly isolation: "auto" | IsolationLevel;
  /**
   * Alive at once. Far above what a service counts itself: one that has lost count, or is somebody else's, must not start
   * processes without end. Without it as many as are asked for.
   */
  readonly mostGuests?: number;
}

/** @throws {Error} when there are as many guests as there may be. */
export function refuseMore(alive: number, { mostGuests = Infinity }: Pick<SandboxOptions, "mostGuests">): void {
  if (alive < mostGuests) return;
  throw new Error(`no process could be started: ${alive} guests are alive, and no service has more`);
}

/** What a level is made of: it starts guests from this very process. */
export interface LocalSandbox {
  readonly facts: SandboxFacts;
  /**
   * @param frames the guest's end of its connection to the service, or `pipe` to make one.
   * @throws {Error} when no process could be started.
   */
  start(frames: "pipe" | Socket): StartedGuest;
  /** As `Cgroups.prefer`. */
  prefer(pids: readonly number[]): Promise<void>;
  /** All guests must be gone. */
  close(): Promise<void>;
}

export interface StartedGuest extends GuestHandle {
  /** The service's end of the connection, where one was made. */
  readonly socket: Socket | null;
}

/** A sandbox whose guests are this process's own children. */
export function sandboxOf(wall: LocalSandbox, options: Pick<SandboxOptions, "mostGuests"> = {}): Sandbox {
  const guests = new Set<GuestHandle>();
  let closed = false;
  return {
    facts: wall.facts,
    launch: async () => {
      if (closed) throw new Error("no process could be started: the sandbox is closed");
      refuseMore(guests.size, options);
      const guest = wall.start("pipe") as GuestProcess;
      guests.add(guest);
      void guest.exited.then(() => guests.delete(guest));
      return guest;
    },
    close: async () => {
      closed = true;
      await endAll(guests);
      await wall.close();
    },
  };
}

/** Ends guests and waits until the kernel has taken them away, so that their control groups can go too. */
export async function endAll(guests: Iterable<GuestHandle>): Promise<void> {
  const ending = [...guests];
  for (const guest of ending) guest.kill();
  await Promise.all(ending.map(({ exited }) => exited));
}
