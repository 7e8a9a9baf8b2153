import type { Feed, Topic } from "../../redis/feed.ts";

export const REVOKED = "revoked";
/** The revocations from which on a node looks for some that it need not remember any more. */
const LEAST_SWEPT = 1_000;
/** The members of one read. */
const CHUNK = 1_000;

/** The record of a revocation, as JSON in Redis. */
export interface RevocationRecord {
  readonly revokedBy: string;
  readonly revokedAt: number;
  /** Until when it is needed, in Unix milliseconds; missing if for ever, and in records of earlier releases. */
  readonly until?: number;
}

/**
 * The revocations in the memory of a node. A node keeps one even if Redis loses it, until its time has passed by the clock of the node,
 * too: each named task that is deleted leaves one, so the memory would otherwise grow until the next start.
 */
export class Revocations implements Topic {
  readonly name: string = REVOKED;
  /** Until when each is needed. */
  readonly #revoked = new Map<string, number>();
  readonly #leastSwept: number;
  #sweptAt: number;
  #feed: Pick<Feed, "values"> | null = null;
  /** Called with new revocations, in order. */
  readonly listeners: ((jtis: readonly string[]) => void)[] = [];

  constructor(leastSwept: number = LEAST_SWEPT) {
    this.#leastSwept = leastSwept;
    this.#sweptAt = leastSwept;
  }

  get size(): number {
    return this.#revoked.size;
  }

  /** Sets the feed that has the records. */
  attach(feed: Pick<Feed, "values">): void {
    this.#feed = feed;
  }

  /** In force from now on. @param untilMs until when they are needed, if that is known */
  add(members: readonly string[], untilMs: number = Infinity): void {
    const added = members.filter((jti) => !this.#revoked.has(jti));
    for (const jti of added) this.#revoked.set(jti, untilMs);
    if (added.length > 0) for (const listener of this.listeners) listener(added);
  }

  async changed(members: readonly string[]): Promise<void> {
    this.add(members);
    for (let at = 0; at < members.length; at += CHUNK) await this.#readEnds(members.slice(at, at + CHUNK));
    if (this.#revoked.size >= this.#sweptAt) await this.#sweep();
  }

  has(jti: string): boolean {
    return this.#revoked.has(jti);
  }

  async #readEnds(members: readonly string[]): Promise<void> {
    const texts = (await this.#feed?.values(REVOKED, members)) ?? [];
    for (const [at, text] of texts.entries()) {
      if (text) this.#revoked.set(members[at]!, (JSON.parse(text) as RevocationRecord).until ?? Infinity);
    }
  }

  /**
   * Drops revocations whose time has passed, if Redis has also deleted them: Redis compares with its clock, so that no single clock
   * that is ahead makes a revoked token valid.
   */
  async #sweep(): Promise<void> {
    const nowMs = Date.now();
    const over = [...this.#revoked].filter(([, untilMs]) => untilMs < nowMs).slice(0, CHUNK);
    const members = over.map(([jti]) => jti);
    const texts = (await this.#feed?.values(REVOKED, members)) ?? [];
    for (const [at, text] of texts.entries()) if (text === null) this.#revoked.delete(members[at]!);
    this.#sweptAt = this.#revoked.size + this.#leastSwept;
  }
}
