import { type IncomingMessage, request as httpRequest } from "node:http";
import { connect } from "node:net";

const TIMEOUT_MS = 30_000;

export interface RequestOptions {
  /** The bearer token; null for none. */
  token?: string | null;
  headers?: Readonly<Record<string, string | string[]>>;
  body?: string | Uint8Array;
  /** A body that is sent as `application/json`. */
  json?: unknown;
  /** Appended to the target, encoded. */
  query?: Readonly<Record<string, string>>;
  /** Gives the request up: the connection is closed. */
  signal?: AbortSignal;
  /** Where the service is, when it is not on loopback. */
  host?: string;
  /** The longest head of an answer that is read, in bytes; without it, Node's own 16 KiB. */
  maxHeaderSize?: number;
  /** The longest silence of the service; without it, half a minute. */
  timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  /** By lower-case name; several of one name are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** Name, value, name, value, as they came. */
  readonly rawHeaders: readonly string[];
  readonly bytes: Buffer;
  readonly text: string;
  /** Whether the body came to its end, and was not cut. */
  readonly complete: boolean;
  json(): unknown;
}

/** One request on a connection of its own, by `node:http`, which sends the target as it is given. */
export async function request(port: number, method: string, target: string, options: RequestOptions): Promise<Answer> {
  return collect(await respond(port, method, target, options));
}

/** As `request`, but gives the response when its head has come. */
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
  // Node sends no length with the body of a GET, and the body would be read as the next request.
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
      ...(options.maxHeaderSize !== undefined && { maxHeaderSize: options.maxHeaderSize }),
    },
    resolve,
  );
  // After a response this changes nothing: a service may answer before it has read the body, and close.
  sent.on("error", reject);
  const { timeoutMs = TIMEOUT_MS } = options;
  sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`no answer in ${timeoutMs} ms`)));
  sent.end(body);
  return promise;
}

/** Reads the rest of a response; one that is cut is given as far as it came. */
export async function collect(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => {
    response.on("error", resolve).on("end", resolve).on("close", resolve);
  });
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

/** Writes to a fresh connection and gives what comes back until the other side closes. */
export function sendRaw(port: number, parts: readonly (string | Uint8Array)[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  // A reset after an answer is how a server ends a connection that it stopped reading.
  socket.on("error", () => {});
  socket.on("close", () => resolve(text));
  socket.setTimeout(TIMEOUT_MS, () => {
    reject(new Error(`the connection was not closed in ${TIMEOUT_MS} ms; it said: ${text}`));
    socket.destroy();
  });
  for (const part of parts) socket.write(part);
  return promise;
}
