import type { Sources } from "../../source/fetch.ts";
import type { RunCall } from "./run-call.ts";
import type { CodeText } from "./run-input.ts";

/** Fetches the code of a run from its URL. @throws {Problem} as `Sources.fetch`. */
export async function fetchCode({ taskUrl: url, group, pin, response }: RunCall, sources: Sources): Promise<CodeText> {
  // The run of a client that has left must not hold its slot for as long as a slow server answers.
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const permit = { net: group.net, sha256: pin?.sha256 ?? null };
  const { bytes, contentType } = await sources.fetch(pin?.url ?? url!, permit, gone.signal);
  const typescript = contentType?.startsWith("application/typescript") ?? false;
  return { source: bytes, typescript, modules: null };
}
