import type { NetClaim } from "../egress/narrow.ts";

/**
 * Who shares a guest: runs of one party in one container find what the others of it left behind, and can forge what they
 * say. So whatever is told one run and not another makes another party.
 */
export interface Party {
  /** The same text for the same party, and for no other. */
  readonly key: string;
  /** Shares with nobody, not even with itself: each run gets a blank guest, which ends with it. */
  readonly fresh: boolean;
  /** What all its tokens leave of the egress policy. */
  readonly net: NetClaim;
}
