import { VERSION } from "../../http/headers.ts";
import { messagesOf } from "./answer-messages.ts";
import { protocolHeaders } from "./protocol-headers.ts";

export interface BridgeOptions {
  /** The endpoint of the service. */
  readonly url: string;
  readonly token: string;
  readonly fetch: typeof fetch;
  /** Writes a message to the client, as one line without its end. */
  readonly write: (line: string) => void;
  /** Reports what no message can tell. */
  readonly report: (text: string) => void;
}

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly [name: string]: unknown };
  readonly result?: { readonly protocolVersion?: unknown };
}

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** An error of this bridge or of the service, and not of the protocol. */
const SERVICE_ERROR = -32_000;
const SESSION = "mcp-session-id";

/**
 * Passes messages of a client on stdio to the MCP endpoint of a service, and its answers back. Only messages of the protocol are
 * written, each as one line: what a task has printed is a text inside of a message.
 */
export class Bridge {
  readonly #with: BridgeOptions;
  /** The requests in flight, by the JSON of their ids. */
  readonly #requests = new Map<string, AbortController>();
  /** What the service has chosen for a client of 2025. */
  #protocolVersion: string | null = null;
  #session: string | null = null;

  constructor(options: BridgeOptions) {
    this.#with = options;
  }

  /** Passes on one line of the client. Resolves when it is answered. Never rejects. */
  async receive(line: string): Promise<void> {
    if (line.trim() === "") return;
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      return this.#refuse(null, PARSE_ERROR, "the line is not JSON");
    }
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      return this.#refuse(null, INVALID_REQUEST, "the line is not one message");
    }
    const { id, method } = message;
    // An answer to a request of the service, which sends none.
    if (method === undefined) return;
    if (method === "notifications/cancelled") return this.#cancel(message);
    const key = id === undefined ? null : JSON.stringify(id);
    const controller = new AbortController();
    if (key !== null) this.#requests.set(key, controller);
    try {
      await this.#send(message, line, controller.signal);
    } catch (error) {
      // The client has cancelled the request, and ignores an answer.
      if (controller.signal.aborted) return;
      this.#fail(
        id,
        `the service was not reached: ${reasonOf(error)}; check --url, and that the service runs: caisson health`,
      );
    } finally {
      if (key !== null && this.#requests.get(key) === controller) this.#requests.delete(key);
    }
  }

  /** Cancels all requests in flight. */
  close(): void {
    for (const controller of this.#requests.values()) controller.abort();
  }

  /** The service cancels the run of a request whose connection closes. */
  #cancel({ params }: Message): void {
    this.#requests.get(JSON.stringify(params?.["requestId"]))?.abort();
  }

  async #send(message: Message, line: string, signal: AbortSignal): Promise<void> {
    const { url, token, fetch: send, write } = this.#with;
    const headers = new Headers({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      "user-agent": `caisson-mcp/${VERSION}`,
      ...(this.#protocolVersion !== null && { "mcp-protocol-version": this.#protocolVersion }),
      ...(this.#session !== null && { [SESSION]: this.#session }),
      ...protocolHeaders(message),
    });
    const response = await send(url, { method: "POST", headers, body: line, signal });
    const { id, method } = message;
    let isAnswered = false;
    for await (const answer of messagesOf(response)) {
      if (signal.aborted) return;
      const { result, id: answered } = answer as Message;
      if (method === "initialize" && typeof result?.protocolVersion === "string") {
        this.#protocolVersion = result.protocolVersion;
        this.#session = response.headers.get(SESSION);
      }
      // The service could not read the id of a message that it refuses as a whole.
      const isRefusal = answered === null && id !== undefined;
      isAnswered ||= answered === id || isRefusal;
      write(JSON.stringify(isRefusal ? { ...answer, id } : answer));
    }
    if (isAnswered || id === undefined) return this.#reportLost(response, id);
    this.#fail(id, `the service answered with status ${response.status} and without a message`);
  }

  #reportLost({ ok, status }: Response, id: Message["id"]): void {
    if (!ok && id === undefined) this.#with.report(`the service refused a notification with status ${status}`);
  }

  #fail(id: Message["id"], text: string): void {
    this.#with.report(text);
    if (id !== undefined) this.#refuse(id, SERVICE_ERROR, text);
  }

  #refuse(id: string | number | null, code: number, message: string): void {
    this.#with.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
  }
}

/** `fetch` hides its reason in the cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== "" ? cause.message : message;
}
