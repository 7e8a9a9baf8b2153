import { Problem } from "../errors.ts";
import { FetchFault } from "./fetch-fault.ts";

/**
 * Reads a URL (WHATWG URL standard) that code may be fetched from. The fragment is dropped.
 *
 * @param from where a redirect to this URL came from; without it the URL is the caller's own.
 * @throws {Problem} `task_url_invalid` for the caller's own URL.
 * @throws {FetchFault} `task_url_forbidden` for a redirect.
 */
export function readTaskUrl(text: string, maxLength: number, from?: URL): URL {
  if (text.length > maxLength) throw fault(`has ${text.length} characters; at most ${maxLength} are taken`, from);
  const url = URL.parse(text, from?.href);
  if (url === null) throw fault("is not an absolute URL; it begins with https:// or http://", from);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw fault(`has the scheme ${JSON.stringify(url.protocol)}; only https: and http: are fetched`, from);
  }
  if (url.username !== "" || url.password !== "") {
    throw fault("holds a user name or a password; code is fetched without credentials", from);
  }
  url.hash = "";
  return url;
}

/** The port that a URL means, with the default of its scheme. */
export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function fault(why: string, from: URL | undefined): Error {
  return from === undefined
    ? new Problem("task_url_invalid", `task_url ${why}`)
    : new FetchFault("task_url_forbidden", `redirects to a URL that ${why}`);
}
