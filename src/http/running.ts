import { Problem } from "../errors.ts";
import type { Claims } from "../tokens/claims.ts";
import type { TokenRegister } from "../tokens/register.ts";
import type { Verifier } from "../tokens/verify.ts";
import type { Execution } from "./execution.ts";

/** The runs that guests are at, by their tokens, so that a revocation can end them. */
export class Running {
  readonly #runs: Map<Execution, Claims> = new Map();

  constructor(registry: Pick<TokenRegister, "onRevoked">, verifier: Pick<Verifier, "isSigned" | "onKeysRemoved">) {
    registry.onRevoked((jtis) => {
      const revoked = new Set(jtis);
      this.#kill(({ jti, parents }) => revoked.has(jti) || parents.some((parent) => revoked.has(parent)), TOKEN);
    });
    verifier.onKeysRemoved(() => this.#kill((claims) => !verifier.isSigned(claims), KEY));
  }

  add(execution: Execution, claims: Claims): void {
    this.#runs.set(execution, claims);
  }

  delete(execution: Execution): void {
    this.#runs.delete(execution);
  }

  #kill(isOver: (claims: Claims) => boolean, why: string): void {
    for (const [execution, claims] of this.#runs) {
      if (isOver(claims)) execution.kill(new Problem("token_invalid", why, { hint: HINT }));
    }
  }
}

const TOKEN = "the token was revoked, which ended the run";
const KEY = "the key that the token was signed with was revoked, which ended the run";
const HINT = "Ask an administrator of this service for a new one.";
