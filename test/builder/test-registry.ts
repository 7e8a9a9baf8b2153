import { createHash } from "node:crypto";
import { once } from "node:events";
import { globSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { gzipSync } from "node:zlib";

import { tarballOf } from "./tar.ts";

const MODULES = path.join(import.meta.dirname, "../../node_modules");

export interface Publication {
  /** Members of package.json in addition to name and version. */
  readonly manifest?: object;
  /** The archive, if it is not that of the files. */
  readonly tarball?: Buffer;
  /** Members of `dist` that replace the honest ones. */
  readonly dist?: object;
  /** ISO 8601. */
  readonly time?: string;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A registry on loopback. It is honest unless a test replaces its answers. */
export class TestRegistry {
  readonly url: URL;
  /** The path of each request. */
  readonly requests: string[] = [];
  /** The `Authorization` of each request. */
  readonly credentials: (string | undefined)[] = [];
  /** Answers of paths, in the place of honest ones. */
  readonly instead: Map<string, Handler> = new Map();
  readonly #server: Server;
  readonly #packages: Map<string, Map<string, { manifest: object; tarball: Buffer; time: string }>> = new Map();
  readonly #tags: Map<string, Record<string, string>> = new Map();

  private constructor(server: Server) {
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.url = new URL(`http://127.0.0.1:${port}/`);
    server.on("request", (request, response) => this.#answer(request, response));
  }

  static async open(): Promise<TestRegistry> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TestRegistry(server);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Publishes a version. The last one that is published is the latest. */
  publish(
    name: string,
    version: string,
    files: Readonly<Record<string, string | Buffer>>,
    more: Publication = {},
  ): this {
    const own = { name, version, ...more.manifest };
    const tarball = more.tarball ?? tarballOf({ "package.json": JSON.stringify(own), ...files });
    const place = new URL(`${name}/-/${name.replace(/^@.*\//, "")}-${version}.tgz`, this.url);
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    const manifest = { ...own, dist: { tarball: place.href, integrity, ...more.dist } };
    const versions = this.#packages.get(name) ?? new Map<string, never>();
    this.#packages.set(name, versions);
    versions.set(version, { manifest, tarball, time: more.time ?? "2020-01-01T00:00:00.000Z" });
    return this.tag(name, "latest", version);
  }

  tag(name: string, tag: string, version: string): this {
    this.#tags.set(name, { ...this.#tags.get(name), [tag]: version });
    return this;
  }

  /** Publishes packages with the files that npm has installed for this project, and everything that they depend on. */
  publishInstalled(...names: readonly string[]): this {
    for (const name of names) {
      const folder = path.join(MODULES, name);
      const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as Manifest;
      if (this.#packages.has(name)) continue;
      const files = globSync("**/*", { cwd: folder, exclude: (file) => file === "node_modules" })
        .filter((file) => statSync(path.join(folder, file)).isFile())
        .map((file) => [file, readFileSync(path.join(folder, file))] as const);
      this.publish(name, manifest.version, Object.fromEntries(files), { manifest });
      this.publishInstalled(...Object.keys(manifest.dependencies ?? {}));
    }
    return this;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const target = decodeURIComponent(request.url!);
    this.requests.push(target);
    this.credentials.push(request.headers.authorization);
    const handler = this.instead.get(target);
    if (handler) return handler(request, response);
    const [, name, file] = /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.+)\.tgz)?$/.exec(target) ?? [];
    const versions = this.#packages.get(name ?? "");
    if (!versions) return void response.writeHead(404).end("{}");
    if (file === undefined) return this.#sendPackument(name!, versions, request, response);
    const version = file.slice(name!.replace(/^@.*\//, "").length + 1);
    const found = versions.get(version);
    if (found) response.end(found.tarball);
    else response.writeHead(404).end("{}");
  }

  #sendPackument(
    name: string,
    versions: ReadonlyMap<string, { manifest: object; time: string }>,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const all = [...versions];
    const isShort = request.headers.accept?.includes("vnd.npm.install-v1") === true;
    const document = {
      name,
      "dist-tags": this.#tags.get(name),
      versions: Object.fromEntries(all.map(([version, { manifest }]) => [version, manifest])),
      ...(isShort ? {} : { time: Object.fromEntries(all.map(([version, { time }]) => [version, time])) }),
    };
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    response.end(gzipSync(JSON.stringify(document), { level: 1 }));
  }
}

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}
