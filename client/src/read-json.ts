import { unexpected } from "./error.ts";

/** The most bytes of an answer that is read at once. The largest result has 6 MiB, and a list of records less. */
const MAX_BYTES = 64 * 2 ** 20;

/**
 * Reads the JSON of an answer. An answer that does not end would fill the memory of the client.
 *
 * @throws {CaissonError} `unexpected_answer`, or the error of a body that breaks off
 */
export async function readJson(response: Response): Promise<unknown> {
  const text = await readText(response);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unexpected("it is not JSON", { status: response.status, cause: error });
  }
}

/** @throws {CaissonError} `unexpected_answer` for a text that is too long, or the error of a body that breaks off */
export async function readText({ body, status }: Response): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > MAX_BYTES) {
      void reader.cancel().catch(() => {});
      throw unexpected(`it has more than ${MAX_BYTES} bytes`, { status });
    }
    text += decoder.decode(value, { stream: true });
  }
}
