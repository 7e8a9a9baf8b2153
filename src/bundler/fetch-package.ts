import { Agent, type IncomingMessage, request } from "node:http";
import { gunzip } from "node:zlib";

import { REGISTRY_HOST } from "./build-messages.ts";
import { Failure } from "./failure.ts";

/** Few connections, each of which serves many requests. */
const CONNECTIONS = 8;
/** A packument after decompression. The largest of the public registry have some ten megabytes. */
const MAX_PACKUMENT_BYTES = 96 * 2 ** 20;
const TRIES = 2;
const FORBIDDEN = "The operator gives the service a token of the registry with --npm-token-file or --npm-scope-token.";

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

/** Returns the description of all versions of a package. @param isFull whether it contains the times of the versions. */
export async function fetchPackument(name: string, isFull: boolean): Promise<unknown> {
  const target = `/packument/${encodeURIComponent(name)}${isFull ? "?full" : ""}`;
  const { status, headers, bytes } = await get(target);
  if (status !== 200) throw failureOf(status, bytes, `the package ${name}`);
  const text = headers["content-encoding"] === "gzip" ? await unzip(bytes) : bytes;
  try {
    return JSON.parse(text.toString()) as unknown;
  } catch {
    throw new Failure("packages_unavailable", `the registry returned no description of the package ${name}`);
  }
}

/** Returns the bytes of a tarball. @param path its path at the registry */
export async function fetchTarball(name: string, version: string, path: string): Promise<Buffer> {
  const words = [name, version, path].map(encodeURIComponent).join("/");
  const { status, bytes } = await get(`/tarball/${words}`);
  if (status === 200) return bytes;
  throw failureOf(status, bytes, `the tarball of ${name}@${version}`);
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;
}

/** The proxy answers 503 for a registry that did not answer, which a second request may find well. */
async function get(path: string): Promise<Reply> {
  for (let tries = 1; ; tries++) {
    const reply = await getOnce(path);
    if (reply.status !== 503 || tries === TRIES) return reply;
  }
}

function getOnce(path: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: REGISTRY_HOST, path }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", () => reject(broken()));
      response.on("end", () => {
        resolve({ status: response.statusCode!, headers: response.headers, bytes: Buffer.concat(chunks) });
      });
    });
    sent.on("error", () => reject(broken())).end();
  });
}

/** The proxy closes a connection in the middle if the registry does, or sends too much. */
function broken(): Failure {
  return new Failure("packages_unavailable", "the registry closed the connection before its answer was complete");
}

function failureOf(status: number, bytes: Buffer, subject: string): Failure {
  const why = bytes.toString("utf8", 0, 300);
  if (status === 404) return new Failure("packages_not_found", `${subject} does not exist at the registry`);
  if (status === 413) return new Failure("packages_too_large", `${subject} ${why}`);
  if (status === 400) return new Failure("packages_failed", `${subject} ${why}`);
  const detail = `${subject} cannot be fetched: the registry ${why}`;
  return new Failure("packages_unavailable", detail, status === 403 ? FORBIDDEN : null);
}

function unzip(bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gunzip(bytes, { maxOutputLength: MAX_PACKUMENT_BYTES }, (error, text) => {
      if (error) reject(new Failure("packages_failed", "the registry returned a description that cannot be unpacked"));
      else resolve(text);
    });
  });
}
