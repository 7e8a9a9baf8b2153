/**
 * Whether an entity tag is one of those that `If-Match` or `If-None-Match` gives (RFC 9110, sections 13.1.1 and 13.1.2).
 * Ours have no quotes and commas in them.
 *
 * @param etag without its quotes, or null for what is not there.
 */
export function isOneOf(etag: string | null, header: string): boolean {
  if (etag === null) return false;
  const given = header.split(",").map((text) => text.trim());
  return given.includes("*") || given.includes(`"${etag}"`);
}
