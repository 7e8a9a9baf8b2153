import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";

import { Slices } from "../next-turn.ts";
import { arrivingChunks } from "./arriving-chunks.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { NodeRequest } from "./node-credential.ts";
import { parseLine } from "./parse-line.ts";

/** The type of the answer of one node to another: a JSON value in each line. */
export const LINES_TYPE = "application/x-ndjson";

/** Reads the answer of a node, line by line. Both methods throw if the answer is not what the node should send. */
export interface AnswerReader<T> {
  line(value: unknown): void;
  end(): T;
}

export interface NodeQuestion<T> extends NodeRequest {
  /** The URL of the node. */
  readonly url: string;
  readonly authorization: string;
  /** The token family for which the node asks. */
  readonly family: string;
  readonly reader: AnswerReader<T>;
  /** Reserves memory for bytes of the answer. @throws if there is no more */
  readonly reserve: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Sends a request to another node. Its answer is checked as input of a stranger, because the network in between may not be safe.
 *
 * @returns null if the node answers that there is no such thing.
 * @throws {Error} if it does not answer as it should.
 */
export async function askNode<T>({ reader, family, reserve, ...question }: NodeQuestion<T>): Promise<T | null> {
  const response = await send(question);
  try {
    if (response.statusCode === 404) return null;
    if (response.statusCode !== 200) throw new Error(`it answered with status ${response.statusCode}`);
    if (response.headers["content-type"] !== LINES_TYPE) throw new Error("its answer has another type");
    const lines = new LineSplitter();
    const slices = new Slices(family);
    for await (const chunk of arrivingChunks(response, reserve)) {
      for (const line of lines.add(chunk)) {
        if (slices.hasEnded) await slices.next();
        reader.line(parseLine(line));
      }
    }
    lines.end();
    return reader.end();
  } finally {
    response.destroy();
  }
}

/** The error of a node that accepts no connection. */
export class ConnectionFault extends Error {
  override readonly name = "ConnectionFault";
}

/** The time for a connection. A machine that is gone does not refuse it. */
const CONNECT_MS = 1_000;

type Sent = Pick<NodeQuestion<unknown>, "url" | "method" | "target" | "authorization" | "signal"> & {
  /** Further headers, or other values. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** Sends a request to another node. @throws {Error} a `ConnectionFault` if the node accepts no connection */
export function send({ url, method, target, authorization, signal, headers }: Sent): Promise<IncomingMessage> {
  const { protocol, hostname, port } = new URL(url);
  const request = protocol === "https:" ? requestTls : requestPlain;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({
    ...{ hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port, method, signal },
    // The target as it is: resolved as a URL, some names would become another path.
    path: target,
    // Each request has its own connection: a connection that is kept could end while a request is on its way.
    agent: false,
    headers: { Authorization: authorization, Accept: LINES_TYPE, Connection: "close", ...headers },
  });
  let isConnected = false;
  const timer = setTimeout(() => sent.destroy(new Error(`it accepted no connection in ${CONNECT_MS} ms`)), CONNECT_MS);
  sent.on("socket", (socket) => {
    socket.once("connect", () => {
      isConnected = true;
      clearTimeout(timer);
    });
  });
  sent.on("response", resolve);
  sent.on("error", (error) => {
    clearTimeout(timer);
    reject(isConnected ? error : new ConnectionFault(error.message, { cause: error }));
  });
  sent.end();
  return promise;
}
