import type { GuestProcess } from "../sandbox.ts";

/** A guest that is sealed and runs what the self-test gives it. */
export interface ProbeGuest {
  readonly process: GuestProcess;
  /** @returns what the code returned. @throws {Error} when it gave no result, because it threw or the guest has ended. */
  run(source: string): Promise<unknown>;
  end(): void;
}

/** @throws {Error} when no guest can be started. */
export type MakeProbeGuest = () => Promise<ProbeGuest>;
