import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

import type { LocalPorts } from "../egress/local-ports.ts";
import type { EgressPolicy } from "../egress/policy.ts";
import { notCode } from "../wire/not-code.ts";
import { dial, type DialAsker } from "./dial.ts";
import { FetchFault } from "./fetch-fault.ts";
import { requestHead } from "./request.ts";
import { readBody } from "./response-body.ts";
import { isBlank, withoutPreamble } from "./text.ts";

export interface ExchangeLimits {
  /** The time limit of DNS, TCP and TLS together. It stops an unreachable host that delays a run. */
  readonly connectMs: number;
  /** The maximum number of bytes after decompression. It stops endless bodies and decompression bombs. */
  readonly maxBytes: number;
  /** The local ports, which fetches share with tasks. */
  readonly ports: LocalPorts;
}

/** The answer of a URL: code, or a redirect to it. */
export interface Reply {
  /** The `Location` of a redirect as the server sent it; null if the body is the code. */
  readonly location: string | null;
  /** Text that can be code, as the server sent it; empty for a redirect. */
  readonly body: Buffer;
  readonly contentType: string | null;
}

export interface ExchangeResult {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The time from the request to the end of its answer. */
  readonly delayMs: number;
  /** The addresses of the host; the policy checked them. */
  readonly addresses: readonly string[];
  /** null if the server answered 304: the cached reply is still valid. */
  readonly reply: Reply | null;
}

/**
 * Sends one GET (RFC 9110) on a new connection. The request contains nothing of the caller.
 *
 * @param conditions the headers of a conditional request, or none.
 * @throws {FetchFault} or the error of the policy, DNS, TCP, TLS or HTTP.
 */
export async function exchange(
  url: URL,
  conditions: Readonly<Record<string, string>>,
  policy: EgressPolicy,
  limits: ExchangeLimits,
  asker: DialAsker,
): Promise<ExchangeResult> {
  const { socket, addresses } = await dial(url, policy, limits, asker);
  const sentMs = performance.now();
  const response = await requestHead(url, socket, conditions);
  const { headers } = response;
  const status = response.statusCode!;
  const unchanged = status === 304 && Object.keys(conditions).length > 0;
  const reply = unchanged ? null : await readReply(response, limits.maxBytes);
  response.destroy();
  return { status, headers, delayMs: performance.now() - sentMs, addresses, reply };
}

/** The bytes that are checked for HTML or XML: enough for any text before the first tag of a page. */
const INSPECTED_BYTES = 8_192;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

async function readReply(response: IncomingMessage, maxBytes: number): Promise<Reply> {
  const { location, "content-type": contentType } = response.headers;
  if (location !== undefined && REDIRECTS.has(response.statusCode!)) {
    return { location, body: Buffer.of(), contentType: null };
  }
  return { location: null, body: await readSource(response, maxBytes), contentType: contentType ?? null };
}

async function readSource(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const status = response.statusCode!;
  if (status < 200 || status > 299) throw new FetchFault("task_url_status", `answered with status ${status}`);
  if (/^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(response.headers["content-type"] ?? "")) throw htmlPage();
  const body = await readBody(response, maxBytes);
  if (!isUtf8(body)) throw new FetchFault("task_url_not_code", "returned bytes that are not UTF-8 text");
  const source = withoutPreamble(body);
  if (isBlank(source)) throw new FetchFault("task_url_not_code", "returned blank text");
  const other = notCode(source.toString("utf8", 0, INSPECTED_BYTES));
  if (other === "page") throw htmlPage();
  if (other === "xml") {
    throw new FetchFault(
      "task_url_not_code",
      "returned an XML document",
      "It may be an error message: check what the URL returns.",
    );
  }
  return body;
}

function htmlPage(): FetchFault {
  return new FetchFault(
    "task_url_not_code",
    "returned an HTML page",
    "Link to the raw file, not to the page that shows it.",
  );
}
