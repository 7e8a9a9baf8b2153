import type { GuestProcess } from "../sandbox.ts";

/** A sealed guest that runs code of the self-test. */
export interface ProbeGuest {
  readonly process: GuestProcess;
  /** @returns the result of the code. @throws {Error} if there is none, because the code threw or the guest has ended. */
  run(source: string): Promise<unknown>;
  end(): void;
}

/** Starts and seals a guest. @throws {Error} if no guest can be started. */
export type MakeProbeGuest = () => Promise<ProbeGuest>;
