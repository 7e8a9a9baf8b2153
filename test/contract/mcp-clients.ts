import { Client as ClientOf2026, StreamableHTTPClientTransport as HttpOf2026 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioOf2026 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientOf2025 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioOf2025 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpOf2025 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export interface ToolText {
  readonly text: string;
  readonly isError: boolean;
  readonly structured: Record<string, unknown>;
}

export interface ListedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** An official client of one version of the protocol. */
export interface McpClient extends AsyncDisposable {
  readonly protocol: string | undefined;
  readonly instructions: string | undefined;
  /** All tools, of all pages. */
  tools(): Promise<ListedTool[]>;
  call(name: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<ToolText>;
}

/** The server that a client connects to: a URL with a token, or a program. */
export type McpServerPlace =
  | { readonly url: string; readonly token: string | null; readonly headers?: Readonly<Record<string, string>> }
  | { readonly command: string; readonly args: string[]; readonly env: Record<string, string> };

export const PROTOCOLS = ["2026", "2025"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

const NAME = { name: "test", version: "1.0.0" };

export async function connectMcp(protocol: Protocol, place: McpServerPlace): Promise<McpClient> {
  const client = protocol === "2026" ? await connect2026(place) : await connect2025(place);
  return {
    protocol: protocolOf(client),
    instructions: client.getInstructions(),
    tools: async () => {
      const tools: ListedTool[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        tools.push(...(page.tools as ListedTool[]));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return tools;
    },
    call: async (name, args = {}, signal) => {
      const options = signal ? { signal } : {};
      const params = { name, arguments: args };
      const result =
        client instanceof ClientOf2025
          ? await client.callTool(params, undefined, options)
          : await client.callTool(params, options);
      const [first] = result.content as { text: string }[];
      const structured = (result.structuredContent ?? {}) as Record<string, unknown>;
      return { text: first?.text ?? "", isError: result.isError === true, structured };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function connect2026(place: McpServerPlace): Promise<ClientOf2026> {
  // Without a fallback: the server must have the new protocol.
  const client = new ClientOf2026(NAME, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  const transport =
    "url" in place
      ? new HttpOf2026(new URL(place.url), { requestInit: { headers: headersOf(place) } })
      : new StdioOf2026({ ...place, stderr: "pipe" });
  await client.connect(transport);
  return client;
}

async function connect2025(place: McpServerPlace): Promise<ClientOf2025> {
  const client = new ClientOf2025(NAME);
  const transport =
    "url" in place
      ? new HttpOf2025(new URL(place.url), { requestInit: { headers: headersOf(place) } })
      : new StdioOf2025({ ...place, stderr: "pipe" });
  await client.connect(transport);
  return client;
}

function headersOf({ token, headers }: Extract<McpServerPlace, { url: string }>): Record<string, string> {
  return { ...(token !== null && { authorization: `Bearer ${token}` }), ...headers };
}

function protocolOf(client: ClientOf2026 | ClientOf2025): string | undefined {
  if (client instanceof ClientOf2026) return client.getNegotiatedProtocolVersion();
  return (client.transport as { protocolVersion?: string } | undefined)?.protocolVersion;
}
