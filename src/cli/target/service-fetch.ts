import { once } from "node:events";
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { Readable } from "node:stream";

/** The time to connect. A host that drops packets would otherwise take two minutes. */
const CONNECT_MS = 10_000;
/** The time until the head of an answer that does not run code. */
const ANSWER_MS = 60_000;
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

/**
 * Returns a `fetch` for the client of caisson that uses Node's HTTP. Unlike the global one it can trust one certificate, and
 * has no limit of time for the answer to a run.
 *
 * @param certificate the only certificate that is trusted, whatever its names are; null for those of the system
 */
export function fetchWith(certificate: Buffer | null = null): typeof fetch {
  const http = new HttpAgent({ keepAlive: true });
  const trust = certificate && {
    ca: certificate,
    allowPartialTrustChain: true,
    // Only the holder of this certificate's key receives the token, so the name in the certificate does not matter.
    checkServerIdentity: () => undefined,
  };
  const https = new HttpsAgent({ keepAlive: true, ...trust });
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const { body, headers } = await contentOf(init);
    const { method = "GET", signal } = init;
    const options: RequestOptions = { method, headers, ...(signal && { signal }) };
    const request =
      url.protocol === "https:"
        ? requestHttps(url, { ...options, agent: https })
        : requestHttp(url, { ...options, agent: http });
    const patience = setTimeout(
      () => request.destroy(new Error(`no answer within ${ANSWER_MS / 1_000} s`)),
      method === "GET" || method === "DELETE" ? ANSWER_MS : 2 ** 31 - 1,
    );
    const connection = setTimeout(
      () => request.destroy(new Error(`no connection within ${CONNECT_MS / 1_000} s`)),
      CONNECT_MS,
    );
    request.once("socket", (socket) => {
      if (!socket.connecting) return clearTimeout(connection);
      socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => clearTimeout(connection));
    });
    request.end(body);
    try {
      const [message] = (await once(request, "response")) as [IncomingMessage];
      return responseOf(message);
    } finally {
      clearTimeout(patience);
      clearTimeout(connection);
    }
  };
}

/** Returns the bytes and the headers of a request. The global `Response` computes the type of each kind of body. */
async function contentOf({ body, headers }: RequestInit): Promise<{ body: Buffer; headers: Record<string, string> }> {
  const content = new Response(body ?? null);
  const bytes = Buffer.from(await content.arrayBuffer());
  const all = new Headers(headers);
  const type = content.headers.get("content-type");
  if (type !== null && !all.has("content-type")) all.set("content-type", type);
  if (body !== undefined && body !== null) all.set("content-length", String(bytes.length));
  return { body: bytes, headers: Object.fromEntries(all) };
}

function responseOf(message: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const status = message.statusCode!;
  if (WITHOUT_BODY.has(status)) {
    message.resume();
    return new Response(null, { status: status < 200 ? 204 : status, headers });
  }
  return new Response(Readable.toWeb(message) as ReadableStream<Uint8Array<ArrayBuffer>>, { status, headers });
}
