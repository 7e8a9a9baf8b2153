import type { Claims } from "./claims.ts";
import type { Secrets } from "./secrets/vault.ts";

/** The checked content of a token that is about to be issued, with defaults. */
export interface TokenRequest extends Omit<Claims, "jti" | "iat" | "task" | "parents"> {
  readonly secrets: Secrets;
}
