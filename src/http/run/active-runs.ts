import { Problem } from "../../errors.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { TokenStore } from "../../tokens/store.ts";
import type { Verifier } from "../../tokens/verify.ts";
import type { Execution } from "./execution.ts";

/** The active runs and the tokens that they depend on, so that a revocation can end the runs. */
export class ActiveRuns {
  readonly #runs: Map<Execution, readonly Caller[]> = new Map();

  constructor(store: Pick<TokenStore, "onRevoked">, verifier: Pick<Verifier, "onKeysRemoved">) {
    store.onRevoked((jtis) => {
      const revoked = new Set(jtis);
      this.#kill(
        ({ claims: { jti, parents } }) => revoked.has(jti) || parents.some((parent) => revoked.has(parent)),
        TOKEN_REVOKED,
      );
    });
    verifier.onKeysRemoved((hasLostKey) => this.#kill(hasLostKey, KEY_REVOKED));
  }

  /** @param tokens the tokens that the run depends on: the token of the request, and the token of the named task */
  add(execution: Execution, tokens: readonly Caller[]): void {
    this.#runs.set(execution, tokens);
  }

  delete(execution: Execution): void {
    this.#runs.delete(execution);
  }

  #kill(hasEnded: (caller: Caller) => boolean, reason: string): void {
    for (const [execution, tokens] of this.#runs) {
      if (tokens.some(hasEnded)) execution.kill(new Problem("token_invalid", reason, { hint: HINT }));
    }
  }
}

const TOKEN_REVOKED = "the token was revoked, which ended the run";
const KEY_REVOKED = "the key that signed the token or one of its ancestors was revoked, which ended the run";
const HINT = "Ask an administrator of this service for a new token.";
