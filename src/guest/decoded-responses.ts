import { uncurry } from "../wire/uncurry.ts";

/** The content codings that Node's `fetch` decodes by itself. */
const CODINGS = ["gzip", "x-gzip", "deflate", "br", "zstd"];
const CODING = "content-encoding";

const split = uncurry(String.prototype as { split: (separator: string) => string[] }, "split");
const trim = uncurry(String.prototype as string, "trim");
const lowerCase = uncurry(String.prototype as string, "toLowerCase");
const decoded = new WeakSet<object>();
const has = decoded.has.bind(decoded);
const add = decoded.add.bind(decoded);

/**
 * Records the bodies that `fetch` has decompressed. The standard makes their responses keep the original coding and length
 * headers. A task that returns such headers with the decoded body would send a response that no client can decode.
 * Call it once, before any submitted code runs.
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

/** Whether this header of a response describes the encoded body, while the response holds the decoded body. */
export function isOutdated(name: string, response: Response): boolean {
  if (name !== CODING && name !== "content-length") return false;
  if (response.body === null) return false;
  // A cloned response has another body but keeps its URL.
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
