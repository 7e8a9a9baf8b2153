import { readNamedFile } from "../../config/read-file.ts";

/** The form of a bearer token (RFC 6750, section 2.1). A shorter one could be guessed. */
const TOKEN = /^[A-Za-z0-9._~+/=-]{16,512}$/;

/**
 * Reads the token of `--metrics-token`.
 *
 * @throws {Error} if the file cannot be used. The message does not contain its content.
 */
export function readMetricsToken(file: string | null): string | null {
  if (file === null) return null;
  const fix = `create it, such as with: openssl rand -hex 32 > ${file}`;
  const token = readNamedFile("--metrics-token", file, fix).toString().trim();
  if (TOKEN.test(token)) return token;
  throw new Error(
    `--metrics-token: ${file} must contain one line of 16 to 512 letters, digits and ._~+/=- characters; ` +
      "openssl rand -hex 32 prints a valid token",
  );
}
