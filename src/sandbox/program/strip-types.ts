import { stripTypeScriptTypes } from "node:module";

import { cachedFile } from "./cached-file.ts";

/**
 * Strips the types of a module. Loading the stripper and stripping the guest program takes 0.15 s of processor time, so the
 * result is cached.
 */
export async function strip(source: string): Promise<string> {
  const stripped = await cachedFile("stripped", source, () => {
    return Promise.resolve(Buffer.from(stripTypeScriptTypes(source)));
  });
  return stripped.toString();
}
