import type { Config } from "../../config.ts";
import { consoleFiles } from "./console-files.ts";
import { consolePage } from "./console-page.ts";
import type { Logo } from "./logo.ts";

/** A part of the console that is sent with status 200. */
export interface ConsoleAnswer {
  readonly type: string;
  readonly bytes: Buffer;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
}

/** The name of a file contains its digest, so its content never changes. */
const FOREVER = "public, max-age=31536000, immutable";
/** A browser that opens the logo as a page must not run a script in it. */
const NO_SCRIPT = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/**
 * Returns the page of the console, or null if the console has not been built.
 *
 * @param serviceUrl the URL of the service if the console has a separate origin, otherwise null
 */
export async function answerPage(config: Config, serviceUrl: string | null): Promise<ConsoleAnswer | null> {
  const built = await consoleFiles();
  if (built === null) return null;
  const { html, headers } = consolePage(built.page, config, serviceUrl);
  return { type: "text/html; charset=utf-8", bytes: Buffer.from(html), headers };
}

/** Returns a file of the console, or null if there is no file of this name. */
export async function answerFile(
  name: string,
  acceptEncoding: string | undefined,
  logo: Logo | null,
): Promise<ConsoleAnswer | null> {
  if (name === "logo" && logo !== null) {
    const headers = ["Cache-Control", "public, max-age=60", "Content-Security-Policy", NO_SCRIPT];
    return { type: logo.type, bytes: logo.bytes, headers };
  }
  const file = (await consoleFiles())?.files.get(name);
  if (!file) return null;
  const isGzip = /\bgzip\b/.test(acceptEncoding ?? "");
  const headers = ["Cache-Control", FOREVER, "Vary", "Accept-Encoding"];
  return {
    type: file.type,
    bytes: isGzip ? file.gzipped : file.bytes,
    headers: isGzip ? [...headers, "Content-Encoding", "gzip"] : headers,
  };
}
