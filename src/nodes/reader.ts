import { z } from "zod";

import { Caller } from "../tokens/caller.ts";
import { isJti, VERBS, type Verb } from "../tokens/claims.ts";

/** What a node must know of the token that another node has checked. It is not a credential, and has nothing secret. */
export interface Reader {
  readonly jti: string;
  /** The topmost token above it, or its own `jti`. */
  readonly family: string;
  readonly admin: boolean;
  readonly containers: readonly string[];
  readonly can: readonly Verb[];
  /** The address of the client, for the audit. */
  readonly client: string;
}

/** The verbs that decide about reads. A node never grants another right to another node. */
const PASSED: ReadonlySet<Verb> = new Set(["logs", "tasks"]);
const MAX_CLIENT_CHARS = 64;

const jti = z.string().refine(isJti);
export const readerSchema: z.ZodType<Reader> = z.strictObject({
  jti,
  family: jti,
  admin: z.boolean(),
  containers: z.array(z.string()),
  can: z.array(z.enum(VERBS).refine((verb) => PASSED.has(verb))),
  client: z.string().max(MAX_CLIENT_CHARS),
});

/** @param client the address of the client */
export function readerOf({ claims, family }: Caller, client: string): Reader {
  const { jti: name, admin, containers, can } = claims;
  const passed = can.filter((verb) => PASSED.has(verb));
  return { jti: name, family, admin, containers, can: passed, client: client.slice(0, MAX_CLIENT_CHARS) };
}

/** Returns a caller with the rights of a reader, and with no others. */
export function callerOf({ jti: name, family, admin, containers, can }: Reader): Caller {
  const rights = { jti: name, admin, containers, can, parents: family === name ? [] : [family] };
  return new Caller(Object.freeze({ ...NOTHING, ...rights }), null, [], NO_STORE);
}

const NOTHING = {
  ...{
    exp: null,
    nbf: null,
    iat: 0,
    limits: {},
    timeout: null,
    net: false as const,
    packages: false as const,
    code: null,
    params: {},
  },
  ...{ secretsReadable: false, fresh: false, depth: 0, selfRevoke: false, labels: {}, description: null, task: null },
};
const NO_STORE = { issued: () => undefined };
