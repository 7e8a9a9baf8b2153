import type { NetClaim } from "../egress/restrict-policy.ts";

/**
 * The runs that share a guest. In one container they find what earlier runs of the group left behind, and can forge the
 * messages of other runs in it. So two runs belong to different groups if one receives something that the other does not.
 */
export interface IsolationGroup {
  /** A text that is unique to the group. */
  readonly isolationKey: string;
  /** Whether each run gets an unused guest that ends with the run. */
  readonly fresh: boolean;
  /** The egress that all tokens of the group allow, within the egress policy. */
  readonly net: NetClaim;
}
