/** The secrets of one token, encrypted. */
export interface SealedSecrets {
  readonly jti: string;
  /** The tokens above it, nearest first. */
  readonly parents: readonly string[];
  readonly sealed: string;
  /** The time when they may be deleted, in Unix milliseconds, or null. */
  readonly forgetAt: number | null;
}

/** A store of encrypted secrets. It never receives plain secrets. */
export interface SecretStore {
  /**
   * Stores the secrets of a token, and deletes its previous ones.
   *
   * @param mostBytes the maximum number of stored bytes of the topmost token and all tokens below it
   * @returns whether there was room. If not, nothing has changed.
   * @throws {Problem} `store_unavailable` when they cannot be stored.
   */
  put(secrets: SealedSecrets, nowMs: number, mostBytes?: number): Promise<boolean> | boolean;
  /**
   * Returns the secrets of a token and of those above it, its own first; `null` for each token without secrets. Called at each
   * run.
   *
   * @throws {Problem} `store_unavailable` when they cannot be read.
   */
  get(jti: string, parents: readonly string[]): Promise<readonly (string | null)[]> | readonly (string | null)[];
  /** Deletes the secrets of a token, and with `below` also of the tokens below it. @throws {Problem} `store_unavailable`. */
  remove(jti: string, parents: readonly string[], options: { below: boolean }): Promise<void> | void;
  close(): void;
}
