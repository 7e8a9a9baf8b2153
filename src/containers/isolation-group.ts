import type { NetClaim } from "../egress/narrow.ts";

/**
 * The runs that share a guest: in one container they find what earlier runs of the group left behind, and can forge what
 * the others of it send. So everything that one run receives and another does not makes another group.
 */
export interface IsolationGroup {
  /** The same text for the same group, and for no other. */
  readonly isolationKey: string;
  /** Each run gets a guest that no run has used, and that ends with the run. */
  readonly fresh: boolean;
  /** What all tokens of the group leave of the egress policy. */
  readonly net: NetClaim;
}
