import { uncurry } from "../wire/uncurry.ts";

/** What Node's `fetch` takes off a body by itself. */
const CODINGS = ["gzip", "x-gzip", "deflate", "br", "zstd"];
const CODING = "content-encoding";

const split = uncurry(String.prototype as { split: (separator: string) => string[] }, "split");
const trim = uncurry(String.prototype as string, "trim");
const lowerCase = uncurry(String.prototype as string, "toLowerCase");
const decoded = new WeakSet<object>();
const has = decoded.has.bind(decoded);
const add = decoded.add.bind(decoded);

/**
 * Notes which bodies `fetch` has decompressed. Their responses say the coding and the length that they came with all the
 * same, as the standard has it; whoever answers with one, or makes a `Response` of it, would send what nobody can read.
 * To be called once, before any submitted code runs.
 */
export function watchFetch(): void {
  const native = globalThis.fetch;
  const watched = async function fetch(input: Parameters<typeof native>[0], init?: RequestInit): Promise<Response> {
    const response = await native(input, init);
    if (response.body && isDecoded(response.headers.get(CODING))) add(response.body);
    return response;
  };
  Object.defineProperty(watched, "length", { value: native.length, configurable: true });
  Object.defineProperty(globalThis, "fetch", { value: watched, writable: true, enumerable: true, configurable: true });
}

/** Whether this header of a response speaks of its body as it came, and not as it is. */
export function isOutdated(name: string, response: Response): boolean {
  if (name !== CODING && name !== "content-length") return false;
  if (response.body === null) return false;
  // One that was cloned has another body, and the place that it came from.
  return has(response.body) || (response.url !== "" && isDecoded(response.headers.get(CODING)));
}

function isDecoded(coding: string | null): boolean {
  if (coding === null) return false;
  const names = split(coding, ",");
  for (let index = 0; index < names.length; index += 1) {
    if (!CODINGS.includes(lowerCase(trim(names[index]!)))) return false;
  }
  return true;
}
