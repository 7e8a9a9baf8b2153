import { Problem } from "../errors.ts";
import type { Feed, Topic } from "../redis/feed.ts";
import type { RedisLink } from "../redis/link.ts";
import { isJti } from "./claims.ts";
import { LEEWAY_S } from "./format.ts";
import { claimsOf, type Payload } from "./payload.ts";
import { forgetAt, type IssuedToken, type TokenRegister } from "./register.ts";

const REVOKED = "revoked";

/** Revocations as a node knows them. Nothing is ever taken back, whatever a Redis forgets. */
export class Revocations implements Topic {
  readonly name: string = REVOKED;
  readonly #revoked = new Set<string>();
  /** Told what is new. */
  told: (jtis: readonly string[]) => void = () => {};

  changed(members: readonly string[]): void {
    const added = members.filter((jti) => !this.#revoked.has(jti));
    for (const jti of added) this.#revoked.add(jti);
    if (added.length > 0) this.told(added);
  }

  has(jti: string): boolean {
    return this.#revoked.has(jti);
  }
}

/** The register of tokens that nodes share through Redis: records there, revocations also in the memory of each node. */
export class SharedRegistry implements TokenRegister {
  readonly #link: RedisLink;
  readonly #feed: Feed;
  readonly #revocations: Revocations;

  constructor(link: RedisLink, feed: Feed, revocations: Revocations) {
    this.#link = link;
    this.#feed = feed;
    this.#revocations = revocations;
  }

  async record(payload: Payload, issuedBy: string, issuedAt: number): Promise<void> {
    const { jti, exp } = payload;
    const record = JSON.stringify({ payload, issuedBy, issuedAt });
    const expiry = exp === undefined ? [] : ["PXAT", forgetAt(exp, LEEWAY_S)];
    await this.#link.call("SET", this.#key(jti), record, ...expiry);
  }

  async issued(jti: string): Promise<IssuedToken | undefined> {
    const text = await this.#link.call("GET", this.#key(jti));
    if (typeof text !== "string") return undefined;
    const record = JSON.parse(text) as { payload: unknown; issuedBy: string; issuedAt: number };
    return { claims: claimsOf(record.payload), issuedBy: record.issuedBy, issuedAt: record.issuedAt };
  }

  async revoke(jti: string, revokedBy: string, nowMs: number): Promise<boolean> {
    if (!isJti(jti)) {
      throw new Problem("request_invalid", "the jti is not one that this service gives: it is a UUID in lower case");
    }
    const exp = (await this.issued(jti))?.claims.exp ?? null;
    const forget = exp === null ? null : forgetAt(exp, LEEWAY_S);
    // Who revoked it first stays on record.
    if (this.#revocations.has(jti)) return false;
    const first = await this.#feed.publish(REVOKED, jti, JSON.stringify({ revokedBy, revokedAt: nowMs }), forget);
    this.#revocations.changed([jti]);
    return first;
  }

  isRevoked(jti: string): boolean {
    this.#feed.mustBeFresh();
    return this.#revocations.has(jti);
  }

  onRevoked(told: (jtis: readonly string[]) => void): void {
    this.#revocations.told = told;
  }

  /** Link and feed are closed by who opened them. */
  close(): void {}

  #key(jti: string): string {
    return `${this.#link.hashedKey(`issued:${jti}`)}:issued`;
  }
}
