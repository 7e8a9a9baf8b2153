interface Message {
  readonly method?: string;
  readonly params?: { readonly [name: string]: unknown };
}

/** The member of `_meta` with the version of the protocol, in each request of a client of 2026. */
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
/** The parameter that the header `Mcp-Name` repeats, by method (MCP 2026-07-28, Streamable HTTP). */
const NAMED_BY: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

/** Returns the headers that repeat parts of a message over HTTP. A client of 2025 has none. */
export function protocolHeaders({ method, params }: Message): Record<string, string> {
  const meta = params?.["_meta"] as Readonly<Record<string, unknown>> | undefined;
  const version = meta?.[VERSION_KEY];
  if (typeof version !== "string" || method === undefined) return {};
  const headers = { "mcp-protocol-version": asHeader(version), "mcp-method": asHeader(method) };
  const name = Object.hasOwn(NAMED_BY, method) ? params?.[NAMED_BY[method]!] : undefined;
  return typeof name === "string" ? { ...headers, "mcp-name": asHeader(name) } : headers;
}

/** Encodes a text that HTTP cannot carry as a header, as the protocol requires. */
function asHeader(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/i.test(text);
  return isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
