import type { Claims } from "./claims.ts";
import type { TokenStore, TokenUse } from "./store.ts";

/** The interval between writes in milliseconds. A killed process loses the use of this interval. */
const WRITE_MS = 1_000;
/** The maximum number of tokens in one write, so that no request waits behind thousands. */
const MAX_WRITTEN = 500;

/** Counts the use of tokens in memory, and writes it at intervals. */
export class Uses {
  readonly #store: Pick<TokenStore, "addUse" | "use">;
  readonly #nowMs: () => number;
  readonly #timer: NodeJS.Timeout;
  #unwritten = new Map<string, { runs: number; lastMs: number }>();

  constructor(store: Pick<TokenStore, "addUse" | "use">, nowMs: () => number) {
    this.#store = store;
    this.#nowMs = nowMs;
    this.#timer = setInterval(() => void this.#write(MAX_WRITTEN), WRITE_MS).unref();
  }

  /** Records a request that the token authorized. */
  seen({ jti }: Claims): void {
    const lastMs = this.#nowMs();
    const use = this.#unwritten.get(jti);
    if (use) use.lastMs = lastMs;
    else this.#unwritten.set(jti, { runs: 0, lastMs });
  }

  /** Records an admitted run of the token. */
  ran(claims: Claims): void {
    this.seen(claims);
    this.#unwritten.get(claims.jti)!.runs++;
  }

  /** Returns the stored use, plus the use on this node since the last write. */
  async of(jti: string): Promise<TokenUse | undefined> {
    const [written, unwritten] = [await this.#store.use(jti), this.#unwritten.get(jti)];
    if (!written || !unwritten) return written ?? unwritten;
    return { runs: written.runs + unwritten.runs, lastMs: Math.max(written.lastMs, unwritten.lastMs) };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#write(Infinity);
  }

  async #write(count: number): Promise<void> {
    if (this.#unwritten.size === 0) return;
    const uses = new Map([...this.#unwritten].slice(0, count));
    for (const jti of uses.keys()) this.#unwritten.delete(jti);
    try {
      await this.#store.addUse(uses);
    } catch {
      // The admission of runs already reports a store that cannot be written. The next write includes this use.
      for (const [jti, { runs, lastMs }] of uses) {
        const since = this.#unwritten.get(jti);
        this.#unwritten.set(jti, { runs: runs + (since?.runs ?? 0), lastMs: Math.max(lastMs, since?.lastMs ?? 0) });
      }
    }
  }
}
