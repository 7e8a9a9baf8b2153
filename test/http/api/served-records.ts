import type { IncomingMessage } from "node:http";
import type { TestContext } from "node:test";

import { getRequestListener } from "@hono/node-server";

import { makeApi } from "../../../src/http/api/api.ts";
import { FamilyRequests } from "../../../src/http/api/family-requests.ts";
import type { ApiDependencies } from "../../../src/http/api/route.ts";
import { holdWrites } from "../../../src/http/unread.ts";
import { NodeCredentials } from "../../../src/nodes/node-credential.ts";
import type { Peer } from "../../../src/nodes/node-registry.ts";
import { Nodes } from "../../../src/nodes/nodes.ts";
import type { EndedRun } from "../../../src/records/ended-run.ts";
import { Records } from "../../../src/records/records.ts";
import { type Answer, request, type RequestOptions, respond } from "../../contract/http.ts";
import { BOUNDS } from "../../records/bounds.ts";
import { MemoryRecordStore } from "../../records/memory-store.ts";
import { testTokens } from "../../tokens/support.ts";
import { listening } from "../listening.ts";

export interface ServedRecords {
  readonly records: Records;
  readonly store: MemoryRecordStore;
  readonly running: EndedRun[];
  readonly tokens: Awaited<ReturnType<typeof testTokens>>;
  readonly port: number;
  /** The values of the header `X-Name` of the requests whose answers are closed. */
  readonly closed: readonly string[];
  /** Issues a token. @returns its text and its `jti` */
  readonly issue: (claims: object) => Promise<{ token: string; jti: string }>;
  readonly get: (target: string, token: string, options?: RequestOptions) => Promise<Answer>;
  /** Returns the response when its head has arrived. */
  readonly open: (target: string, token: string, options?: RequestOptions) => Promise<IncomingMessage>;
}

/** The process of the node that `serveRecords` serves. */
export const SELF = "5e1f5e1f5e1f";
/** The client of all requests, as proxies would report it. */
export const CLIENT = "192.0.2.7";

const nothing = (): Promise<void> => Promise.resolve();

/**
 * Serves the API over HTTP with real tokens and records that a test adds.
 *
 * @param peers the other nodes of the service; null for a service without Redis
 */
export async function serveRecords(t: TestContext, peers: readonly Peer[] | null = null): Promise<ServedRecords> {
  const tokens = await testTokens(t);
  const credentials = new NodeCredentials(tokens.keys, SELF, () => tokens.clock.nowMs);
  const registry = peers && { peers, further: 0, announce: nothing, close: nothing };
  const nodes = registry && new Nodes({ process: SELF, registry, credentials, bounds: BOUNDS });
  const store = new MemoryRecordStore();
  const running: EndedRun[] = [];
  const closed: string[] = [];
  const runningOf = (container: string | null): EndedRun[] => {
    return running.filter((run) => container === null || run.container === container);
  };
  const records = new Records({ store, bounds: { ...BOUNDS, recentRuns: 64 * 2 ** 20 }, running: runningOf });
  t.after(() => records.tail.close());
  // The routes of records use no other parts of the service. A list of no runs looks for the container.
  const dependencies = {
    ...{ records, tokens, nodes, config: { ...BOUNDS, queryKey: true }, proxies: { clientOf: () => CLIENT } },
    requests: new FamilyRequests(32),
    policies: { get: () => undefined },
    tasks: { list: () => Promise.resolve([]) },
    authenticator: { verify: (token: string) => tokens.verifier.verify(token) },
  } as unknown as ApiDependencies;
  const api = getRequestListener(makeApi(dependencies).fetch, { overrideGlobalObjects: false });
  const port = await listening(t, {
    request: (incoming, response) => {
      holdWrites(response, () => "public");
      response.once("close", () => closed.push(String(incoming.headers["x-name"])));
      incoming.headers.host = "localhost";
      void api(incoming, response);
    },
  });
  const issue = async (claims: object): Promise<{ token: string; jti: string }> => tokens.issue(claims, "me");
  return {
    ...{ records, store, running, tokens, port, closed, issue },
    get: (target, token, options = {}) => request(port, "GET", target, { token, ...options }),
    open: (target, token, options = {}) => respond(port, "GET", target, { token, ...options }),
  };
}
