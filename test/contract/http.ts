import { type IncomingMessage, request as httpRequest } from "node:http";
import { connect } from "node:net";

/** Longer than a busy machine takes to any answer that a test waits for. */
const TIMEOUT_MS = 90_000;

export interface RequestOptions {
  /** The bearer token; null for no token. */
  token?: string | null;
  headers?: Readonly<Record<string, string | string[]>>;
  body?: string | Uint8Array;
  /** The body to send as `application/json`. */
  json?: unknown;
  /** The query to append to the target, encoded. */
  query?: Readonly<Record<string, string>>;
  /** Aborts the request: the connection is closed. */
  signal?: AbortSignal;
  /** The host of the service; default: loopback. */
  host?: string;
  /** The address of the client, such as `127.0.0.2`; default: that of the route to the service. */
  from?: string;
  /** The maximum number of bytes of the head of an answer; default: 16 KiB, the default of Node. */
  maxHeaderSize?: number;
  /** The maximum milliseconds without bytes from the service; default: half a minute. */
  timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  /** By lower-case name. Several values of one name are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** Name, value, name, value, as they arrived. */
  readonly rawHeaders: readonly string[];
  readonly bytes: Buffer;
  readonly text: string;
  /** Whether the body arrived completely, and was not cut. */
  readonly complete: boolean;
  json(): unknown;
}

/** Sends one request on a new connection with `node:http`, which does not change the target. */
export async function request(port: number, method: string, target: string, options: RequestOptions): Promise<Answer> {
  return collect(await respond(port, method, target, options));
}

/** Does the same, but returns the response when its head has arrived. */
export function respond(
  port: number,
  method: string,
  target: string,
  options: RequestOptions,
): Promise<IncomingMessage> {
  const body = options.json === undefined ? options.body : JSON.stringify(options.json);
  const headers: Record<string, string | string[]> = {};
  if (options.token) headers["authorization"] = `Bearer ${options.token}`;
  if (options.json !== undefined) headers["content-type"] = "application/json";
  Object.assign(headers, options.headers);
  // Node sends no length with the body of a GET, so the body would be read as the next request.
  if (body !== undefined && !("transfer-encoding" in headers))
    headers["content-length"] ??= `${Buffer.byteLength(body)}`;
  const query = options.query ? `?${new URLSearchParams(options.query).toString()}` : "";
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const signal = options.signal;
  const sent = httpRequest(
    {
      host: options.host ?? "127.0.0.1",
      port,
      method,
      path: target + query,
      headers,
      agent: false,
      ...(signal && { signal }),
      ...(options.from !== undefined && { localAddress: options.from }),
      ...(options.maxHeaderSize !== undefined && { maxHeaderSize: options.maxHeaderSize }),
    },
    resolve,
  );
  // An error after the response is ignored, because a service may answer and close before it has read the body.
  sent.on("error", reject);
  const { timeoutMs = TIMEOUT_MS } = options;
  sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`no answer in ${timeoutMs} ms`)));
  sent.end(body);
  return promise;
}

/** Reads the rest of a response; a response that is cut has the bytes up to the cut. */
export async function collect(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  // A response that the service cut before its client read it is already closed, and has no later event.
  if (!response.closed) {
    await new Promise((resolve) => {
      response.on("error", resolve).on("end", resolve).on("close", resolve);
    });
  }
  const bytes = Buffer.concat(chunks);
  const headers = Object.entries(response.headersDistinct).map(([name, values]) => [name, values!.join(", ")]);
  const text = bytes.toString();
  return {
    status: response.statusCode!,
    headers: Object.fromEntries(headers),
    rawHeaders: response.rawHeaders,
    bytes,
    text,
    complete: response.complete,
    json: (): unknown => JSON.parse(text),
  };
}

/** Writes to a new connection. @returns what arrives until the other side closes */
export function sendRaw(port: number, parts: readonly (string | Uint8Array)[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  // A server that stops reading a connection ends it with a reset after the answer.
  socket.on("error", () => {});
  socket.on("close", () => resolve(text));
  socket.setTimeout(TIMEOUT_MS, () => {
    reject(new Error(`the connection was not closed in ${TIMEOUT_MS} ms; it answered: ${text}`));
    socket.destroy();
  });
  for (const part of parts) socket.write(part);
  return promise;
}
