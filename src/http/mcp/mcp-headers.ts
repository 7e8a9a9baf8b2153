import { VERSION_HEADERS } from "../headers.ts";

/** The headers of this protocol, which pages of a permitted origin may send and read. */
const ALLOWED = [
  ...["Authorization", "Content-Type", "Accept", "Last-Event-ID", "traceparent"],
  ...["Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"],
].join(", ");
const EXPOSED = ["Mcp-Session-Id", "WWW-Authenticate", "Retry-After", "Caisson-Version", "Caisson-Fault"].join(", ");
const METHODS = "POST, OPTIONS";

/** Adds what each answer has. @param origin the origin of the page that may read it, or null */
export function answerHeaders(headers: Headers, origin: string | null): Headers {
  const [version, number] = VERSION_HEADERS;
  headers.set(version!, number!);
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("Referrer-Policy", "no-referrer");
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
  // It belongs to the connection, which the service itself manages.
  headers.delete("Connection");
  if (origin === null) return headers;
  headers.set("Access-Control-Allow-Origin", origin);
  headers.set("Access-Control-Expose-Headers", EXPOSED);
  headers.set("Vary", "Origin");
  return headers;
}

/** Answers a preflight request (Fetch standard). */
export function preflight(origin: string | null): Response {
  const headers = new Headers({ Allow: METHODS });
  if (origin !== null) {
    headers.set("Access-Control-Allow-Methods", METHODS);
    headers.set("Access-Control-Allow-Headers", ALLOWED);
    headers.set("Access-Control-Max-Age", "86400");
  }
  return new Response(null, { status: 204, headers: answerHeaders(headers, origin) });
}
