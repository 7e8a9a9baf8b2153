import { Problem } from "../../errors.ts";
import type { Caller } from "../../tokens/caller.ts";
import type { TokenStore } from "../../tokens/store.ts";
import type { Verifier } from "../../tokens/verify.ts";
import type { Execution } from "./execution.ts";

/** The active runs and the tokens that they depend on, so that a revocation can end the runs. */
export class ActiveRuns {
  /** In no order. Not a Map: V8 copies a Map that is filled and emptied with each run again and again. */
  readonly #runs: ActiveRun[] = [];

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
  add(execution: ActiveExecution, tokens: readonly Caller[]): void {
    execution.activePlace = this.#runs.length;
    this.#runs.push({ execution, tokens });
  }

  /** Removes a run, unless it was not added. */
  delete(execution: ActiveExecution): void {
    const place = execution.activePlace;
    if (place === null) return;
    execution.activePlace = null;
    const last = this.#runs.pop()!;
    if (last.execution === execution) return;
    last.execution.activePlace = place;
    this.#runs[place] = last;
  }

  #kill(hasEnded: (caller: Caller) => boolean, reason: string): void {
    // A copy, because a run that ends leaves the list.
    for (const { execution, tokens } of [...this.#runs]) {
      if (tokens.some(hasEnded)) execution.kill(new Problem("token_invalid", reason, { hint: HINT }));
    }
  }
}

type ActiveExecution = Pick<Execution, "kill" | "activePlace">;

interface ActiveRun {
  readonly execution: ActiveExecution;
  readonly tokens: readonly Caller[];
}

const TOKEN_REVOKED = "the token was revoked, which ended the run";
const KEY_REVOKED = "the key that signed the token or one of its ancestors was revoked, which ended the run";
const HINT = "Ask an administrator of this service for a new token.";
