/**
 * The reason for a refusal: the host is invalid, egress is off, the token's claim does not contain it, the port or an
 * address is not allowed, it is the service itself or its Redis, or it exceeds the share of the caller.
 */
export type DenialReason = "host" | "mode" | "claim" | "port" | "address" | "self" | "limit";

/** A destination that is not allowed. The message never contains the addresses of a name. */
export class EgressDenied extends Error {
  override readonly name = "EgressDenied";
  readonly reason: DenialReason;
  /** The message without its subject, for texts that must not name the host. */
  readonly why: string;

  constructor(host: string, reason: DenialReason, why: string) {
    super(`${JSON.stringify(host)} ${why}`);
    this.reason = reason;
    this.why = why;
  }
}
