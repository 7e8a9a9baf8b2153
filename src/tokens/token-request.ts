import type { NetClaim } from "../egress/restrict-policy.ts";
import type { Labels } from "../labels.ts";
import type { PackagesClaim } from "../packages/policy.ts";
import type { Params, Pin, TokenLimits, Verb } from "./claims.ts";
import type { Secrets } from "./secrets/vault.ts";

/** The checked content of a token that is about to be issued, with defaults. */
export interface TokenRequest {
  readonly admin: boolean;
  readonly containers: readonly string[];
  readonly can: readonly Verb[];
  /** Unix seconds. */
  readonly exp: number | null;
  readonly nbf: number | null;
  readonly limits: TokenLimits;
  readonly timeout: string | null;
  readonly net: NetClaim;
  readonly packages: PackagesClaim;
  readonly code: Pin | null;
  readonly params: Params;
  readonly secrets: Secrets;
  readonly secretsReadable: boolean;
  readonly fresh: boolean;
  readonly depth: number;
  readonly selfRevoke: boolean;
  readonly labels: Labels;
  readonly description: string | null;
}
