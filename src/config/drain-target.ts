import { file } from "./values.ts";

/** The place to which the records of runs are also sent. */
export type DrainTarget =
  | { readonly kind: "stdout" }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "url"; readonly url: URL };

const FORM = "it is not stdout, file:PATH or https://HOST/PATH";

/**
 * Parses `stdout`, `file:PATH` or the URL of a collector.
 *
 * @throws {TypeError} without any part of the text, because a URL may contain a credential.
 */
export function drainTarget(text: string): DrainTarget {
  if (text === "stdout") return { kind: "stdout" };
  if (text.startsWith("file:")) return { kind: "file", path: file(text.slice("file:".length)) };
  if (!/^https?:\/\//.test(text)) throw new TypeError(FORM);
  const url = URL.parse(text);
  if (!url) throw new TypeError(FORM);
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("its URL contains a user or a password; use --log-drain-authorization");
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw new TypeError("records would travel unencrypted; use https, or http to this machine");
  }
  return { kind: "url", url };
}

/** Returns the target for messages and for the log: of a URL only its origin, because its query may be a credential. */
export function describeTarget(target: DrainTarget): string {
  if (target.kind === "stdout") return "stdout";
  return target.kind === "file" ? target.path : target.url.origin;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
