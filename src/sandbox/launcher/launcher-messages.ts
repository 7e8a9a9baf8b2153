import { GUEST_KINDS, type GuestKind } from "../guest-kinds.ts";
import {
  type GuestExit,
  type GuestStatus,
  type GuestUse,
  PRIORITIES,
  type Priority,
  type SandboxFacts,
} from "../sandbox.ts";

/**
 * A request of a service without root to its launcher, over the channel between them. A request has no path, no program and
 * no user: an attacker who controls the service can start and end guests of the four kinds, and nothing else.
 */
export interface Request {
  readonly do: "launch" | "seal" | Priority | "inspect" | "measure" | "weigh" | "interrupt" | "kill";
  /** The guest's number. The service assigns numbers in ascending order. */
  readonly guest: number;
  /** The kind of guest to launch; the default is `task`. */
  readonly kind?: GuestKind;
}

export const KINDS: ReadonlySet<unknown> = new Set(GUEST_KINDS);
export const REQUESTS: ReadonlySet<string> = new Set<Request["do"]>([
  "launch",
  "seal",
  ...PRIORITIES,
  "inspect",
  "measure",
  "weigh",
  "interrupt",
  "kill",
]);

/** A reply of the launcher. For one guest, replies of one kind come in the order of the requests. */
export type Reply =
  | { readonly is: "open"; readonly facts: SandboxFacts }
  /** The sandbox cannot be opened, and the launcher ends. */
  | { readonly is: "refused"; readonly message: string }
  | { readonly is: "sealed"; readonly guest: number; readonly fault: string | null }
  | { readonly is: "inspected"; readonly guest: number; readonly status: GuestStatus | null }
  | { readonly is: "measured"; readonly guest: number; readonly use: GuestUse | null }
  | { readonly is: "weighed"; readonly guest: number; readonly tmpfsBytes: number }
  | { readonly is: "interrupted"; readonly guest: number; readonly stack: string }
  /** The guest has ended, or could not be started. */
  | { readonly is: "exited"; readonly guest: number; readonly exit: GuestExit };

/** The length of the launcher's greeting on a guest's connection: the guest's number, u32 little endian. */
export const GREETING_BYTES = 4;
