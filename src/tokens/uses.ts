import type { Claims } from "./claims.ts";
import type { TokenStore, TokenUse } from "./store.ts";

/** How often what was used is written, in milliseconds: a process that is killed forgets so much. */
const WRITE_MS = 1_000;
/** Written at a time, so that no request waits behind thousands. */
const WRITTEN = 500;

/** Counts what tokens are used for, in memory, and writes it now and then. */
export class Uses {
  readonly #registry: Pick<TokenStore, "addUse" | "use">;
  readonly #nowMs: () => number;
  readonly #timer: NodeJS.Timeout;
  #unwritten = new Map<string, { runs: number; lastMs: number }>();

  constructor(registry: Pick<TokenStore, "addUse" | "use">, nowMs: () => number) {
    this.#registry = registry;
    this.#nowMs = nowMs;
    this.#timer = setInterval(() => void this.#write(WRITTEN), WRITE_MS).unref();
  }

  /** A request came that the token was good for. */
  seen({ jti }: Claims): void {
    const lastMs = this.#nowMs();
    const use = this.#unwritten.get(jti);
    if (use) use.lastMs = lastMs;
    else this.#unwritten.set(jti, { runs: 0, lastMs });
  }

  /** One of its runs was admitted. */
  ran(claims: Claims): void {
    this.seen(claims);
    this.#unwritten.get(claims.jti)!.runs++;
  }

  /** What is written, and what was used on this node since. */
  async of(jti: string): Promise<TokenUse | undefined> {
    const [written, unwritten] = [await this.#registry.use(jti), this.#unwritten.get(jti)];
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
      await this.#registry.addUse(uses);
    } catch {
      // Who serves runs hears of a store that cannot be written. Kept for the next time.
      for (const [jti, { runs, lastMs }] of uses) {
        const since = this.#unwritten.get(jti);
        this.#unwritten.set(jti, { runs: runs + (since?.runs ?? 0), lastMs: Math.max(lastMs, since?.lastMs ?? 0) });
      }
    }
  }
}
