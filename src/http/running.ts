import { Problem } from "../errors.ts";
import type { Claims } from "../tokens/claims.ts";
import type { TokenRegister } from "../tokens/register.ts";
import type { Execution } from "./execution.ts";

/** The runs that guests are at, by their tokens, so that a revocation can end them. */
export class Running {
  readonly #runs: Map<Execution, Claims> = new Map();

  constructor(registry: Pick<TokenRegister, "onRevoked">) {
    registry.onRevoked((jtis) => this.#kill(new Set(jtis)));
  }

  add(execution: Execution, claims: Claims): void {
    this.#runs.set(execution, claims);
  }

  delete(execution: Execution): void {
    this.#runs.delete(execution);
  }

  #kill(revoked: ReadonlySet<string>): void {
    for (const [execution, { jti, parents }] of this.#runs) {
      if (!revoked.has(jti) && !parents.some((parent) => revoked.has(parent))) continue;
      execution.kill(new Problem("token_invalid", "the token was revoked, which ended the run", { hint: HINT }));
    }
  }
}

const HINT = "Ask an administrator of this service for a new one.";
