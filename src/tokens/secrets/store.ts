/** The secrets of one token, encrypted. */
export interface SealedSecrets {
  readonly jti: string;
  /** The tokens above it, nearest first. */
  readonly parents: readonly string[];
  readonly sealed: string;
  /** When they are of no use any more, in Unix milliseconds, or null. */
  readonly forgetAt: number | null;
}

/** Where the secrets of tokens are kept. It never sees them, only what they are encrypted to. */
export interface SecretStore {
  /**
   * Keeps them in place of what the token had.
   *
   * @param mostBytes how many bytes, as they are kept, the tokens below the topmost one may have together with it.
   * @returns false, and then nothing has changed, when they would be too many.
   * @throws {Problem} `store_unavailable` when they cannot be kept.
   */
  put(secrets: SealedSecrets, nowMs: number, mostBytes?: number): Promise<boolean> | boolean;
  /**
   * What a token has and those above it, itself first; `null` for each that has nothing. Asked at each run.
   *
   * @throws {Problem} `store_unavailable` when it cannot know.
   */
  get(jti: string, parents: readonly string[]): Promise<readonly (string | null)[]> | readonly (string | null)[];
  /** Forgets what a token has, and with `below` those below it, too. @throws {Problem} `store_unavailable`. */
  remove(jti: string, parents: readonly string[], options: { below: boolean }): Promise<void> | void;
  close(): void;
}
