import type { NetworkFault } from "../wire/messages.ts";
import { type DenialReason, EgressDenied } from "./denied.ts";
import { destinationText } from "./host.ts";

/** A connection to a port of the host, or a lookup of the host if `port` is null. */
export interface Attempt {
  readonly host: string;
  readonly port: number | null;
}

/** Why an attempt was refused: the policy, a limit of the run or of its guest, or `over` if no such run is in flight. */
export type RefusalReason = DenialReason | "over";

/** A refused attempt, for the log. */
export interface Refusal extends Attempt {
  readonly reason: RefusalReason;
  /** The number of unlogged refusals of the guest since the last log line. */
  readonly unreported: number;
}

/**
 * Returns the fault that the guest receives for a refusal: the attempt, the reason and the remedy. It never contains
 * the addresses of a name.
 */
export function denial(attempt: Attempt, why: string, remedy?: string): NetworkFault {
  const { host, port } = attempt;
  const what = port === null ? `lookup of ${quoted(host)}` : `connect to ${quoted(host)} port ${port}`;
  return {
    message: `${what} is not allowed: ${why}${remedy === undefined ? "" : `; ${remedy}`}`,
    code: "EGRESS_DENIED",
    ...(port === null ? { syscall: "getaddrinfo", hostname: cut(host) } : { syscall: "connect", port }),
  };
}

/** Returns the fault that the guest receives for a failed attempt: the error that Node on the network would report. */
export function failure(error: unknown, attempt: Attempt): NetworkFault {
  if (error instanceof EgressDenied) return denial(attempt, `it ${error.why}`, remedyOf(error, attempt));
  // If every address of a name failed, Node returns all their errors and uses the code of the first.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const { code, errno, syscall, address, port, hostname } = first as Partial<NodeJS.ErrnoException> & Members;
  // Any other error is internal to the service, and a task must not see its text.
  if (typeof code !== "string" || !/^E[A-Z_]{2,30}$/.test(code)) return reset("the connection failed");
  const peer = hostname ?? (address === undefined ? undefined : destinationText({ host: address, port: port ?? null }));
  return {
    message: [syscall, code, peer].filter((part) => part !== undefined).join(" "),
    code,
    ...(errno !== undefined && { errno }),
    ...(syscall !== undefined && { syscall }),
    ...(address !== undefined && { address }),
    ...(port !== undefined && { port }),
    ...(hostname !== undefined && { hostname }),
  };
}

/** Returns the fault of a connection attempt that timed out. */
export function timedOut({ host, port }: Attempt): NetworkFault {
  const why = { code: "ETIMEDOUT", errno: ETIMEDOUT, syscall: "connect" };
  return { ...why, message: `connect ETIMEDOUT ${quoted(host)} port ${port}`, ...(port !== null && { port }) };
}

/** The reason for a refusal if the run that the guest states is not in flight. */
export const RUN_IS_OVER = "no such run is in flight; a run must await its network calls before it ends";

interface Members {
  address?: string;
  port?: number;
  hostname?: string;
}

const ECONNRESET = -104;
const ETIMEDOUT = -110;
const MAX_SHOWN = 255;

function reset(message: string): NetworkFault {
  return { message, code: "ECONNRESET", errno: ECONNRESET, syscall: "read" };
}

function remedyOf({ reason }: EgressDenied, { host, port }: Attempt): string | undefined {
  if (reason === "host" || reason === "limit") return undefined;
  if (reason === "claim") return "use a token whose net claim contains it, or a token without a net claim";
  if (reason === "self") return undefined;
  const destination = port === null ? `${cut(host)}:port` : destinationText({ host: cut(host), port });
  return `the operator can allow it with --egress-allow ${destination}`;
}

/** The host comes from the task and can be any text. */
function quoted(host: string): string {
  return JSON.stringify(cut(host));
}

function cut(host: string): string {
  return host.slice(0, MAX_SHOWN);
}
