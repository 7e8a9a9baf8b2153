import { Problem } from "../errors.ts";
import { FetchFault } from "./fetch-fault.ts";

/**
 * Parses a URL (WHATWG URL standard) from which code may be fetched. It removes the fragment.
 *
 * @param from the URL that redirects to this one; undefined for the URL of the caller.
 * @throws {Problem} `task_url_invalid` for the URL of the caller.
 * @throws {FetchFault} `task_url_forbidden` for a redirect.
 */
export function readTaskUrl(text: string, maxLength: number, from?: URL): URL {
  if (text.length > maxLength) throw fault(`has ${text.length} characters; at most ${maxLength} are accepted`, from);
  const url = URL.parse(text, from?.href);
  if (url === null) throw fault("is not an absolute URL; it must begin with https:// or http://", from);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw fault(`has the scheme ${JSON.stringify(url.protocol)}; only https: and http: are allowed`, from);
  }
  if (url.username !== "" || url.password !== "") {
    throw fault("contains a user name or a password; the service fetches code without credentials", from);
  }
  url.hash = "";
  return url;
}

/** Returns the port of a URL, or the default of its scheme. */
export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function fault(why: string, from: URL | undefined): Error {
  return from === undefined
    ? new Problem("task_url_invalid", `task_url ${why}`)
    : new FetchFault("task_url_forbidden", `redirects to a URL that ${why}`);
}
