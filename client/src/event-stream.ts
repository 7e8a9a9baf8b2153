/** An event of a stream (HTML standard, section 9.2.6). */
export interface ServerEvent {
  /** Empty for an event that has only an id or a time. */
  readonly name: string;
  readonly data: string;
  /** The id of this event, or of the latest one that had an id. */
  readonly id: string | null;
  /** The time after which the service wants clients to connect again; null if it has not said one. */
  readonly retryMs: number | null;
}

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
  let id: string | null = null;
  let retryMs: number | null = null;
  try {
    for (;;) {
      const { done, value } = await withSilence(reader.read(), silenceMs);
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      // A carriage return at the end may be the first half of a line end.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop()!;
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
