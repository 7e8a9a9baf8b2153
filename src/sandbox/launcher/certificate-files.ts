import { readdirSync, realpathSync } from "node:fs";
import path from "node:path";

/** The certificates that OpenSSL in Node reads without SSL_CERT_FILE and SSL_CERT_DIR. */
const DEFAULT_FILE = "/etc/ssl/cert.pem";
const DEFAULT_FOLDER = "/etc/ssl/certs";

/**
 * Returns the files of certificates that a thread of Node may be reading since the start of this process: that of NODE_EXTRA_CA_CERTS, and
 * the files of the system if an option makes Node use them.
 */
export function certificateFiles(env: NodeJS.ProcessEnv, execArgv: readonly string[]): ReadonlySet<string> {
  const files = [env["NODE_EXTRA_CA_CERTS"]];
  const options = `${env["NODE_OPTIONS"] ?? ""} ${execArgv.join(" ")}`;
  // Node reads underscores in options as hyphens.
  if (env["NODE_USE_SYSTEM_CA"] === "1" || /--use[-_](?:system|openssl)[-_]ca/.test(options)) {
    files.push(env["SSL_CERT_FILE"] ?? DEFAULT_FILE, ...filesIn(env["SSL_CERT_DIR"] ?? DEFAULT_FOLDER));
  }
  return new Set(files.flatMap((file) => (file === undefined ? [] : realPathsOf(file))));
}

/** @param folders separated by colons */
function filesIn(folders: string): string[] {
  return folders.split(":").flatMap((folder) => {
    try {
      return readdirSync(folder).map((name) => path.join(folder, name));
    } catch {
      return [];
    }
  });
}

/** Returns the path that /proc shows for an open file; none if there is no file. */
function realPathsOf(file: string): string[] {
  try {
    return [realpathSync(file)];
  } catch {
    return [];
  }
}
