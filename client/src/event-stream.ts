/** An event of a stream (HTML standard, section 9.2.6). */
export interface ServerEvent {
  /** Empty for an event that has only an id or a time. */
  readonly name: string;
  readonly data: string;
  /** The id of this event, or of the latest one that had an id. */
  readonly id: string | null;
  /** The time after which the service wants clients to connect again; null if it has not named one. */
  readonly retryMs: number | null;
}

/** The most characters of an event. The largest record of the service is shorter. */
const MAX_EVENT_CHARS = 64 * 2 ** 20;

/**
 * Reads the events of a body, until it ends. Comments and fields without data are events without a name, so that the reader
 * sees that the connection lives.
 *
 * @param silenceMs the time without bytes after which the body counts as broken
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  silenceMs: number = Infinity,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let [rest, name, data] = ["", "", ""];
  /** A carriage return at the end of a piece, which may be the first half of a line end. */
  let held = "";
  let id: string | null = null;
  let retryMs: number | null = null;
  try {
    for (;;) {
      const { done, value } = await withSilence(reader.read(), silenceMs);
      if (done) return;
      const piece = held + decoder.decode(value, { stream: true });
      held = piece.endsWith("\r") ? "\r" : "";
      // Only the new piece is searched, so that a long line takes linear time.
      const lines = piece.slice(0, piece.length - held.length).split(/\r\n|\n|\r/);
      lines[0] = rest + lines[0]!;
      rest = lines.pop()!;
      if (rest.length + data.length > MAX_EVENT_CHARS)
        throw new Error(`an event has more than ${MAX_EVENT_CHARS} characters`);
      for (const line of lines) {
        const [, field, text] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) as unknown as [string, string, string?];
        if (line === "") {
          yield { name: data === "" ? "" : name || "message", data: data.slice(0, -1), id, retryMs };
          [name, data] = ["", ""];
        } else if (field === "event") name = text ?? "";
        else if (field === "data") data += `${text ?? ""}\n`;
        else if (field === "id") id = text ?? "";
        else if (field === "retry" && /^\d+$/.test(text ?? "")) retryMs = Number(text);
      }
    }
  } finally {
    // Closes the connection, if the caller stops reading.
    await reader.cancel().catch(() => {});
  }
}

function withSilence<T>(read: Promise<T>, silenceMs: number): Promise<T> {
  if (silenceMs === Infinity) return read;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no bytes in ${silenceMs} ms`)), silenceMs);
    read.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
