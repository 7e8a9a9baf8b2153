import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";

import type { EgressPolicy } from "../egress/policy.ts";
import { dial } from "./dial.ts";
import { asProblem, FetchFault } from "./fetch-fault.ts";
import { requirePinned } from "./pin.ts";
import { requestHead } from "./request.ts";
import { readBody } from "./response-body.ts";
import { readTaskUrl } from "./task-url.ts";
import { isBlank, withoutPreamble } from "./text.ts";
import { within } from "./within.ts";

export interface FetchLimits {
  /** For DNS, TCP and TLS of each hop: a host that is not there must not hold a run. */
  readonly connectMs: number;
  /** For everything: an answer that drips for ever. */
  readonly totalMs: number;
  /** Of the text after decompression: endless bodies, and small ones that decompress to endless ones. */
  readonly maxBytes: number;
  readonly maxRedirects: number;
  /** Characters of a URL. */
  readonly urlMaxLength: number;
  /** Of the only text that is taken, in lower-case hexadecimal; `null` takes every text. */
  readonly sha256: string | null;
}

export interface FetchedSource {
  /** UTF-8, without byte-order mark and first line `#!`. */
  bytes: Buffer;
  contentType: string | null;
  /** Where the redirects ended. */
  url: string;
}

/**
 * GETs source code from a URL (RFC 9110), dialling only addresses that the policy has checked, again at each redirect.
 * Nothing of the caller travels with it.
 *
 * @throws {Problem} `task_url_invalid`, `task_url_forbidden`, `task_url_unreachable`, `task_url_status`,
 *   `task_url_too_large`, `task_url_not_code` or `code_pinned`.
 * @throws the signal's reason when it aborts.
 */
export async function fetchSource(
  url: string,
  policy: EgressPolicy,
  limits: FetchLimits,
  signal?: AbortSignal,
): Promise<FetchedSource> {
  signal?.throwIfAborted();
  const first = readTaskUrl(url, limits.urlMaxLength);
  const host = JSON.stringify(first.hostname);
  const stop = new AbortController();
  const late = (): unknown =>
    asProblem(new FetchFault("task_url_unreachable", `did not answer in full within ${limits.totalMs} ms`), host);
  try {
    return await within(limits.totalMs, late, follow(first, host, policy, limits, stop.signal), signal);
  } finally {
    // Whatever way it ended: no socket outlives it, and no redirect is followed behind its back.
    stop.abort();
  }
}

async function follow(
  first: URL,
  host: string,
  policy: EgressPolicy,
  limits: FetchLimits,
  signal: AbortSignal,
): Promise<FetchedSource> {
  const visited = new Set<string>();
  // What a redirect leads to is not named: an allowed server may redirect to an internal one.
  let place = host;
  try {
    for (let url = first; ; place = `the place that ${host} redirects to`) {
      visited.add(url.href);
      const socket = await dial(url, policy, limits.connectMs, signal);
      const response = await requestHead(url, socket);
      const location = redirection(response);
      if (location === undefined) {
        const bytes = await readSource(response, limits);
        return { bytes, contentType: response.headers["content-type"] ?? null, url: url.href };
      }
      response.destroy();
      url = redirected(location, url, visited, limits);
    }
  } catch (error) {
    throw asProblem(error, place);
  }
}

function redirection(response: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(response.statusCode!) ? response.headers.location : undefined;
}

function redirected(location: string, from: URL, visited: ReadonlySet<string>, limits: FetchLimits): URL {
  const url = readTaskUrl(location, limits.urlMaxLength, from);
  if (from.protocol === "https:" && url.protocol === "http:") {
    throw new FetchFault("task_url_forbidden", "redirects from https to http");
  }
  if (visited.has(url.href)) throw new FetchFault("task_url_unreachable", "redirects in a circle");
  if (visited.size > limits.maxRedirects) {
    throw new FetchFault("task_url_unreachable", `redirects once more after ${limits.maxRedirects} redirects`);
  }
  return url;
}

async function readSource(response: IncomingMessage, { maxBytes, sha256 }: FetchLimits): Promise<Buffer> {
  const status = response.statusCode!;
  if (status < 200 || status > 299) throw new FetchFault("task_url_status", `answered with status ${status}`);
  if (/^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(response.headers["content-type"] ?? "")) throw htmlPage();
  const body = await readBody(response, maxBytes);
  if (!isUtf8(body)) throw new FetchFault("task_url_not_code", "gave bytes that are not UTF-8 text");
  const source = withoutPreamble(body);
  if (isBlank(source)) throw new FetchFault("task_url_not_code", "gave a blank text");
  if (/^\s*<(?:!doctype|html)\b/i.test(source.toString("utf8", 0, 1_024))) throw htmlPage();
  requirePinned(body, null, sha256);
  return source;
}

function htmlPage(): FetchFault {
  return new FetchFault(
    "task_url_not_code",
    "gave an HTML page",
    "Link to the raw file, not to the page that shows it.",
  );
}
