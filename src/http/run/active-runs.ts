import { Problem } from "../../errors.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { TokenStore } from "../../tokens/store.ts";
import type { Verifier } from "../../tokens/verify.ts";
import type { Execution } from "./execution.ts";

/** The runs that guests are at, by their tokens, so that a revocation can end them. */
export class ActiveRuns {
  readonly #runs: Map<Execution, readonly Caller[]> = new Map();

  constructor(registry: Pick<TokenStore, "onRevoked">, verifier: Pick<Verifier, "onKeysRemoved">) {
    registry.onRevoked((jtis) => {
      const revoked = new Set(jtis);
      this.#kill(
        ({ claims: { jti, parents } }) => revoked.has(jti) || parents.some((parent) => revoked.has(parent)),
        TOKEN,
      );
    });
    verifier.onKeysRemoved((hasLostKey) => this.#kill(hasLostKey, KEY));
  }

  /** @param tokens all that it hangs on: the one that asked for it, and that of its task. */
  add(execution: Execution, tokens: readonly Caller[]): void {
    this.#runs.set(execution, tokens);
  }

  delete(execution: Execution): void {
    this.#runs.delete(execution);
  }

  #kill(isOver: (caller: Caller) => boolean, why: string): void {
    for (const [execution, tokens] of this.#runs) {
      if (tokens.some(isOver)) execution.kill(new Problem("token_invalid", why, { hint: HINT }));
    }
  }
}

const TOKEN = "the token was revoked, which ended the run";
const KEY = "the key that the token was signed with was revoked, or that of one above it, which ended the run";
const HINT = "Ask an administrator of this service for a new one.";
