import { type GuestExit, type GuestStatus, PRIORITIES, type Priority, type SandboxFacts } from "../sandbox.ts";

/**
 * What a service that has given up root may ask of its launcher, over the channel between them. It says no path, no
 * program and no user: whoever takes the service over can start and end guests, and nothing else.
 */
export interface Request {
  readonly do: "launch" | "seal" | Priority | "inspect" | "kill";
  /** The guest's number, which the service gives and counts up. */
  readonly guest: number;
}

export const REQUESTS: ReadonlySet<string> = new Set<Request["do"]>([
  "launch",
  "seal",
  ...PRIORITIES,
  "inspect",
  "kill",
]);

/** What the launcher answers. Of one guest, the answers of one kind come in the order of the requests. */
export type Reply =
  | { readonly is: "open"; readonly facts: SandboxFacts }
  /** There is no wall, and the launcher ends. */
  | { readonly is: "refused"; readonly message: string }
  | { readonly is: "sealed"; readonly guest: number; readonly fault: string | null }
  | { readonly is: "inspected"; readonly guest: number; readonly status: GuestStatus | null }
  /** The guest is gone, or never came to be. */
  | { readonly is: "exited"; readonly guest: number; readonly exit: GuestExit };

/** The first bytes on a guest's connection, before any of the guest's own: its number, u32 little endian. */
export const GREETING_BYTES = 4;
