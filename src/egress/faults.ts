import type { NetworkFault } from "../wire/messages.ts";
import { destinationText } from "./host.ts";
import { type DenialReason, EgressDenied } from "./policy.ts";

/** What a run wanted: to connect to a port of the host, or (null) to look the host up. */
export interface Attempt {
  readonly host: string;
  readonly port: number | null;
}

/** By the policy, by a limit, or because no such run is in flight. */
export type RefusalReason = DenialReason | "limit" | "over";

/** An attempt that was refused, for the log. */
export interface Refusal extends Attempt {
  readonly reason: RefusalReason;
  /** Refusals of the guest since the last line that got none of their own. */
  readonly unreported: number;
}

/** What the guest is told of a refusal: what was refused, why, and how it could be allowed. Never what a name led to. */
export function denial(attempt: Attempt, why: string, remedy?: string): NetworkFault {
  const { host, port } = attempt;
  const what = port === null ? `lookup of ${quoted(host)}` : `connect to ${quoted(host)} port ${port}`;
  return {
    message: `${what} is not allowed: ${why}${remedy === undefined ? "" : `; ${remedy}`}`,
    code: "EGRESS_DENIED",
    ...(port === null ? { syscall: "getaddrinfo", hostname: cut(host) } : { syscall: "connect", port }),
  };
}

/** What the guest is told of an attempt that failed: as its own Node would have said it, had it been on the network. */
export function failure(error: unknown, attempt: Attempt): NetworkFault {
  if (error instanceof EgressDenied) return denial(attempt, `it ${error.why}`, remedyOf(error, attempt));
  // When every address of a name failed, Node gives all their errors together and calls them by the first.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const { code, errno, syscall, address, port, hostname } = first as Partial<NodeJS.ErrnoException> & Members;
  // Whatever else can go wrong is the service's own matter, and its words are not for a task.
  if (typeof code !== "string" || !/^E[A-Z_]{2,30}$/.test(code)) return reset("the connection broke");
  const where =
    hostname ?? (address === undefined ? undefined : destinationText({ host: address, port: port ?? null }));
  return {
    message: [syscall, code, where].filter((part) => part !== undefined).join(" "),
    code,
    ...(errno !== undefined && { errno }),
    ...(syscall !== undefined && { syscall }),
    ...(address !== undefined && { address }),
    ...(port !== undefined && { port }),
    ...(hostname !== undefined && { hostname }),
  };
}

/** A connection attempt that took too long. */
export function timedOut({ host, port }: Attempt): NetworkFault {
  const why = { code: "ETIMEDOUT", errno: ETIMEDOUT, syscall: "connect" };
  return { ...why, message: `connect ETIMEDOUT ${quoted(host)} port ${port}`, ...(port !== null && { port }) };
}

/** Why nothing is done for a run that the guest names and that is not in flight. */
export const RUN_IS_OVER = "no such run is in flight; await what a run begins before it ends";

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
  if (reason === "host") return undefined;
  if (reason === "claim") return "a token whose net claim names it, or that has none, can reach it";
  if (reason === "self") return undefined;
  const place = port === null ? `${cut(host)}:port` : destinationText({ host: cut(host), port });
  return `the operator can allow it with --egress-allow ${place}`;
}

/** It is a task's own, and may be anything. */
function quoted(host: string): string {
  return JSON.stringify(cut(host));
}

function cut(host: string): string {
  return host.slice(0, MAX_SHOWN);
}
