import { isActing } from "./acting-headers.ts";

/** The response headers that a task may set. Bad headers are not listed, because that list would never be complete. */
const ALLOWED =
  /^(?:content-(?!security-policy)[a-z-]+|cache-control|etag|last-modified|expires|vary|location|link|retry-after|x-[a-z0-9-]+)$/;
/** The `x-` headers that set a policy for the origin. The origin is the service's, so a task may not set them. */
const ORIGIN_POLICIES =
  /^x-(?:content-security-policy|webkit-csp|permitted-cross-domain-policies|xss-protection|frame-options|ua-compatible|dns-prefetch-control|download-options)/;
/** The headers that the service sets itself, exactly once. */
const SET_BY_SERVICE = new Set(["content-length", "x-content-type-options"]);

/** What a fetch handler of a public task decides in addition: the origins that may read its answers, and its methods. */
const OF_HANDLER = /^(?:access-control-[a-z-]+|allow)$/;

/**
 * Returns the response headers of a task that its client receives.
 *
 * @param headers name, value, name, value
 * @param isOfHandler whether they are of a fetch handler of a public task
 * @returns the same, with names in lower case
 */
export function allowedHeaders(headers: readonly string[], isOfHandler: boolean = false): string[] {
  const allowed: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase();
    const isAllowed = ALLOWED.test(name) || (isOfHandler && OF_HANDLER.test(name));
    if (!isAllowed || isActing(name) || ORIGIN_POLICIES.test(name) || SET_BY_SERVICE.has(name)) continue;
    allowed.push(name, headers[index + 1]!);
  }
  return allowed;
}

/** Whether a task sets a cookie, which the client does not receive. @param headers name, value, name, value */
export function setsCookie(headers: readonly string[]): boolean {
  return headers.some((name, index) => index % 2 === 0 && name.toLowerCase() === "set-cookie");
}

export const COOKIE_HINT =
  "The client does not receive Set-Cookie, because all tasks share the origin of the service: return the value in the body or in an x- header, and let your own server set the cookie.";

/** Returns headers by name. A name that occurs again is joined as in RFC 9110, section 5.2. @param headers name, value, name, value */
export function joinedHeaders(headers: readonly string[]): Record<string, string> {
  const byName = new Map<string, string>();
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase();
    const known = byName.get(name);
    byName.set(name, known === undefined ? headers[index + 1]! : `${known}, ${headers[index + 1]!}`);
  }
  return Object.fromEntries(byName);
}
