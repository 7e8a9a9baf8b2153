import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

import type { EgressPolicy } from "../egress/policy.ts";
import { notCode } from "../wire/not-code.ts";
import { dial } from "./dial.ts";
import { FetchFault } from "./fetch-fault.ts";
import { requestHead } from "./request.ts";
import { readBody } from "./response-body.ts";
import { isBlank, withoutPreamble } from "./text.ts";

export interface ExchangeLimits {
  /** For DNS, TCP and TLS: a host that is not there must not hold a run. */
  readonly connectMs: number;
  /** Of the text after decompression: endless bodies, and small ones that decompress to endless ones. */
  readonly maxBytes: number;
}

/** What a URL answered: code, or where it is. */
export interface Reply {
  /** Where the code is, as it was written; null when this is the code. */
  readonly location: string | null;
  /** Text that can be code, as it came; empty for a redirect. */
  readonly body: Buffer;
  readonly contentType: string | null;
}

export interface Exchanged {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** From the request to the end of its answer. */
  readonly delayMs: number;
  /** Those of the host that the policy had checked. */
  readonly addresses: readonly string[];
  /** null when the answer is that the one which was asked about is still good. */
  readonly reply: Reply | null;
}

/**
 * Sends one GET (RFC 9110) on a connection of its own. Nothing of the caller travels with it.
 *
 * @param conditions headers that make it conditional, or none.
 * @throws {FetchFault} or what the policy, DNS, TCP, TLS or HTTP throws.
 */
export async function exchange(
  url: URL,
  conditions: Readonly<Record<string, string>>,
  policy: EgressPolicy,
  limits: ExchangeLimits,
  signal: AbortSignal,
): Promise<Exchanged> {
  const { socket, addresses } = await dial(url, policy, limits.connectMs, signal);
  const sentMs = performance.now();
  const response = await requestHead(url, socket, conditions);
  const { headers } = response;
  const status = response.statusCode!;
  const unchanged = status === 304 && Object.keys(conditions).length > 0;
  const reply = unchanged ? null : await readReply(response, limits.maxBytes);
  response.destroy();
  return { status, headers, delayMs: performance.now() - sentMs, addresses, reply };
}

/** Enough for whatever stands before the first tag of a page. */
const LOOKED_AT_BYTES = 8_192;

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
  if (!isUtf8(body)) throw new FetchFault("task_url_not_code", "gave bytes that are not UTF-8 text");
  const source = withoutPreamble(body);
  if (isBlank(source)) throw new FetchFault("task_url_not_code", "gave a blank text");
  const other = notCode(source.toString("utf8", 0, LOOKED_AT_BYTES));
  if (other === "page") throw htmlPage();
  if (other === "xml") {
    throw new FetchFault(
      "task_url_not_code",
      "gave an XML document",
      "It may be an error: look at what the URL gives.",
    );
  }
  return body;
}

function htmlPage(): FetchFault {
  return new FetchFault(
    "task_url_not_code",
    "gave an HTML page",
    "Link to the raw file, not to the page that shows it.",
  );
}
