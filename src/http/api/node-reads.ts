import { Problem } from "../../errors.ts";
import type { AnswerKind } from "../../nodes/answers/kind.ts";
import { type AnswerReader, LINES_TYPE } from "../../nodes/ask-node.ts";
import { SCHEME } from "../../nodes/node-credential.ts";
import type { NodeCount } from "../../nodes/nodes.ts";
import { callerOf, type Reader, readerOf } from "../../nodes/reader.ts";
import type { Caller } from "../../tokens/caller.ts";
import { parseTarget, publicTarget } from "../target.ts";
import { setOwner } from "../unread.ts";
import { type ApiDependencies, authenticate, type Call, text } from "./route.ts";

/** The sender of a read: a client with a token, or another node for a client. */
export interface Reading {
  readonly by: Caller;
  readonly reader: Reader;
  /** Whether another node has sent the request. It receives what this node has, as lines of JSON. */
  readonly isOfNode: boolean;
}

const ALONE: NodeCount = { asked: 1, answered: 1 };
const NODE_CREDENTIAL = new RegExp(`^${SCHEME} ([\\w.-]+)$`);
const RUN = /^[0-9a-f]{12}-[0-9a-z]{1,12}$/;

/**
 * Authenticates a client, or a node that asks for a client. Only the routes that nodes exchange call this, so the credential of a
 * node permits nothing else.
 *
 * @throws {Problem} as `authenticate`, and `token_invalid`, `overloaded` for a node
 */
export async function authenticateReading(call: Call, dependencies: ApiDependencies): Promise<Reading> {
  const { nodes, proxies } = dependencies;
  const { incoming, outgoing } = call.env;
  const [, credential] = NODE_CREDENTIAL.exec(incoming.headers.authorization ?? "") ?? [];
  if (nodes === null || credential === undefined) {
    const by = await authenticate(call, dependencies);
    return { by, reader: readerOf(by, nodes === null ? "" : proxies.clientOf(incoming)), isOfNode: false };
  }
  const request = { method: incoming.method!, target: incoming.url! };
  const reader = await nodes.credentials.accept(credential, request);
  const by = callerOf(reader);
  setOwner(outgoing, by.family);
  return { by, reader, isOfNode: true };
}

/**
 * Answers a read that concerns all nodes: to a client with the merged parts of all nodes, to a node with the part of this one.
 *
 * @param read reads the part of this node
 * @param write writes the answer for a client
 * @param otherTarget the request to the other nodes, if it is not that of the client
 */
export async function answerOfAll<T>(
  call: Call,
  { nodes }: ApiDependencies,
  { reader, isOfNode }: Reading,
  kind: AnswerKind<T>,
  read: () => Promise<T>,
  write: (merged: T, count: NodeCount) => Promise<Response>,
  otherTarget: string | null = null,
): Promise<Response> {
  const { family } = reader;
  if (isOfNode) return nodeAnswer(await kind.write(await read(), family));
  const target = otherTarget ?? publicTarget(parseTarget(call.env.incoming.url!));
  const { merged, count } = await mergedOfAll(nodes, reader, target, kind, read);
  return write(merged, count);
}

/**
 * Reads the parts of all nodes, and merges them.
 *
 * @param target what the other nodes are asked
 * @param read reads the part of this node
 */
export async function mergedOfAll<T>(
  nodes: ApiDependencies["nodes"],
  reader: Reader,
  target: string,
  kind: AnswerKind<T>,
  read: () => Promise<T>,
): Promise<{ readonly merged: T; readonly count: NodeCount }> {
  if (nodes === null) return { merged: await read(), count: ALONE };
  const reading = read();
  // A failed read rejects `merge`, which awaits it. Until then it must not count as a rejection without a handler.
  reading.catch(() => {});
  let merged!: T;
  const merge = async (parts: readonly T[]): Promise<void> => {
    merged = await kind.merge([await reading, ...parts], reader.family);
  };
  const count = await nodes.askAll(reader, { method: "GET", target }, () => kind.newReader(), merge);
  return { merged, count };
}

/**
 * Asks the other nodes for a run that this node does not have.
 *
 * @returns null if no node has it
 * @throws {Problem} `node_unavailable` if a node that may have it did not answer
 */
export async function askForRun<T>(
  { nodes }: ApiDependencies,
  { reader, isOfNode }: Reading,
  request: { readonly method: "GET" | "DELETE"; readonly container: string; readonly run: string },
  newReader: () => AnswerReader<T>,
): Promise<T | null> {
  const { method, container, run } = request;
  // No run has another id, so a client with any text in its place asks no node.
  if (isOfNode || nodes === null || !RUN.test(run)) return null;
  const target = `/api/runs/${encodeURIComponent(container)}/${run}`;
  const { found, silent } = await nodes.askFor(run, reader, { method, target }, newReader);
  if (found !== null || silent === 0) return found;
  throw new Problem(
    "node_unavailable",
    `${silent === 1 ? "a node" : `${silent} nodes`} that may have the run did not answer`,
    {
      retryAfterMs: 5_000,
    },
  );
}

/** @param lines lines of JSON */
export function nodeAnswer(lines: string): Response {
  return text(200, lines, LINES_TYPE);
}
