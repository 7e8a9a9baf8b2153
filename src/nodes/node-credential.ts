import { createHash, randomUUID } from "node:crypto";

import { z } from "zod";

import { Problem } from "../errors.ts";
import { type Reader, readerSchema } from "./reader.ts";
import { type SharedKeys, signAsNode, verifyFromNode } from "./signature.ts";

/** The scheme of the `Authorization` header of a request of a node. */
export const SCHEME = "Caisson-Node";
const TYPE = "caisson-node-request+jwt";
const LIFETIME_S = 30;
/** How far the clocks of two nodes may differ, as for tokens. */
const LEEWAY_S = 5;
/** The most credentials that are remembered until they have expired. Only nodes cause them, a few for each read. */
const MAX_SEEN = 65_536;

/** A request of one node to another. The target has no credential. */
export interface NodeRequest {
  readonly method: "GET" | "DELETE";
  readonly target: string;
}

/**
 * Credentials with which a node asks another node for one client. Each permits one request to one node, once, with the rights of
 * the client: so it is useless to a reader of the network, and no node receives the token of the client.
 */
export class NodeCredentials {
  readonly #keys: SharedKeys;
  readonly #self: string;
  readonly #nowMs: () => number;
  /** When each accepted credential expires, in Unix milliseconds, in the order of arrival. */
  readonly #seen = new Map<string, number>();

  /** @param self the process of this node */
  constructor(keys: SharedKeys, self: string, nowMs: () => number = Date.now) {
    this.#keys = keys;
    this.#self = self;
    this.#nowMs = nowMs;
  }

  /** @param audience the process of the node that receives it */
  sign(reader: Reader, audience: string, request: NodeRequest): Promise<string> {
    const iat = Math.floor(this.#nowMs() / 1_000);
    const times = { iat, exp: iat + LIFETIME_S };
    return signAsNode(this.#keys, TYPE, { jti: randomUUID(), aud: audience, ...times, ...boundTo(request), reader });
  }

  /** Accepts a credential for this request. @throws {Problem} `token_invalid`, `overloaded` */
  async accept(text: string, request: { readonly method: string; readonly target: string }): Promise<Reader> {
    const { jti, method, target, reader } = await this.#claimsOf(text);
    const bound = boundTo(request);
    if (method !== bound.method || target !== bound.target) throw invalid();
    this.#useOnce(jti);
    return reader;
  }

  async #claimsOf(text: string): Promise<z.infer<typeof schema>> {
    const nowMs = this.#nowMs();
    try {
      const claims = await verifyFromNode(this.#keys, TYPE, text, {
        audience: this.#self,
        // The age is checked too, because an end alone would permit a lifetime that the signer chose.
        maxTokenAge: LIFETIME_S,
        clockTolerance: LEEWAY_S,
        currentDate: new Date(nowMs),
      });
      return schema.parse(claims);
    } catch (error) {
      throw invalid(error);
    }
  }

  #useOnce(jti: string): void {
    const nowMs = this.#nowMs();
    for (const [name, endMs] of this.#seen) {
      if (endMs > nowMs) break;
      this.#seen.delete(name);
    }
    if (this.#seen.has(jti)) throw invalid();
    if (this.#seen.size >= MAX_SEEN) throw new Problem("overloaded", "too many reads of other nodes", RETRY);
    this.#seen.set(jti, nowMs + (LIFETIME_S + 2 * LEEWAY_S) * 1_000);
  }
}

const RETRY = { retryAfterMs: 1_000 };

const schema = z.strictObject({
  ...{ iss: z.string(), aud: z.string(), jti: z.uuid(), iat: z.number(), exp: z.number() },
  ...{ method: z.string(), target: z.string(), reader: readerSchema },
});

/** The target as a hash: a credential is a header, which may not be much longer than the target itself. */
function boundTo({ method, target }: { readonly method: string; readonly target: string }): {
  method: string;
  target: string;
} {
  return { method, target: createHash("sha256").update(target).digest("base64url") };
}

function invalid(cause?: unknown): Problem {
  return new Problem("token_invalid", "the credential of a node is not valid for this request", { cause });
}
