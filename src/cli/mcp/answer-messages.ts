/** The longest answer that is read. It stops a server that fills the memory of this process. */
const MAX_CHARS = 64 * 2 ** 20;

/** Returns the messages of an answer: of JSON, of events, or of a problem, which becomes an error without an id. */
export async function* messagesOf(response: Response): AsyncGenerator<object> {
  const type = (response.headers.get("content-type") ?? "").split(";", 1)[0]!.trim().toLowerCase();
  if (type === "text/event-stream") {
    yield* eventsOf(response);
    return;
  }
  let text = "";
  for await (const part of textsOf(response)) {
    text += part;
    mustBeShort(text);
  }
  const value = parse(text);
  if (type === "application/problem+json") yield errorOf(value, response.status);
  else if (isObject(value) && "jsonrpc" in value) yield value;
  else if (!response.ok) yield errorOf(value, response.status);
}

/** Reads events (HTML Living Standard, section 9.2.6) as far as the protocol uses them: each has a message as its data. */
async function* eventsOf(response: Response): AsyncGenerator<object> {
  let rest = "";
  let data: string[] = [];
  for await (const part of textsOf(response)) {
    const lines = (rest + part).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    mustBeShort(rest);
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice("data:".length).replace(/^ /, ""));
      if (line !== "") continue;
      const value = parse(data.join("\n"));
      data = [];
      if (isObject(value)) yield value;
    }
  }
}

async function* textsOf({ body }: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) yield decoder.decode(chunk, { stream: true });
}

function errorOf(value: unknown, status: number): object {
  const { detail, hint, code, retryAfterMs } = (isObject(value) ? value : {}) as Readonly<Record<string, unknown>>;
  const texts = [detail, hint].filter((text) => typeof text === "string");
  const message = texts.length > 0 ? texts.join("\n") : `the service answered with status ${status}`;
  return { jsonrpc: "2.0", id: null, error: { code: -32_000, message, data: { status, code, retryAfterMs } } };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mustBeShort({ length }: string): void {
  if (length > MAX_CHARS) throw new Error(`the answer has more than ${MAX_CHARS} characters`);
}
