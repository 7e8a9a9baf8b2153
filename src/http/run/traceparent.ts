/** A `traceparent` of version 00 (W3C Trace Context, section 3.2): the trace, the parent and the flags. */
const FIELDS = "(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}";
const TRACEPARENT = new RegExp(`^00-${FIELDS}$`);
/** A later version may have further fields, which are ignored. There is no version ff. */
const LATER = new RegExp(`^(?!00|ff)[0-9a-f]{2}-(${FIELDS})(?:-|$)`);

/**
 * Returns the `traceparent` of a request in the form of version 00, or null if it has none or an invalid one: then the run
 * belongs to no trace.
 */
export function traceparentOf(header: string | string[] | undefined): string | null {
  if (typeof header !== "string") return null;
  if (TRACEPARENT.test(header)) return header;
  const fields = LATER.exec(header)?.[1];
  return fields === undefined ? null : `00-${fields}`;
}
