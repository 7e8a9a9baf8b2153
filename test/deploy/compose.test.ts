import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it } from "node:test";

import { Redis } from "ioredis";
import { parse } from "yaml";
import { z } from "zod";

import { readConfig, unknownVariables } from "../../src/config/read.ts";
import { imageConfig, readDockerfile } from "../container/dockerfile.ts";
import { freePort } from "../ports.ts";
import { missing } from "../redis/server.ts";

const DEPLOY = path.join(import.meta.dirname, "../../deploy");
const FILE = path.join(DEPLOY, "compose.yaml");

const names = z.array(z.string()).default([]);
/** The members of the Compose specification that the file uses. A misspelled member is an error. */
const composeFile = z.strictObject({
  name: z.string(),
  "x-environment": z.unknown(),
  "x-node": z.unknown(),
  services: z.record(
    z.string(),
    z.strictObject({
      build: z.string().optional(),
      image: z.string(),
      restart: z.literal("always"),
      stop_grace_period: z
        .string()
        .regex(/^\d+s$/)
        .optional(),
      depends_on: names,
      networks: names,
      secrets: names,
      volumes: names,
      tmpfs: names,
      cap_drop: names,
      security_opt: names,
      sysctls: z.record(z.string(), z.string()).optional(),
      ports: names,
      read_only: z.boolean().optional(),
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).default({}),
    }),
  ),
  networks: z.record(
    z.string(),
    z.strictObject({
      internal: z.boolean().optional(),
      ipam: z.strictObject({ config: z.array(z.strictObject({ subnet: z.string() })) }).optional(),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
});

const compose = composeFile.parse(parse(readFileSync(FILE, "utf8"), { merge: true, uniqueKeys: true }));
const image = imageConfig(readDockerfile().at(-1)!);
const nodes = Object.entries(compose.services).filter(([, { build }]) => build !== undefined);
const noRedis = await missing("redis-server");

describe("deploy/compose.yaml", () => {
  it("has only members of the specification, and names only what it declares", () => {
    for (const [name, service] of Object.entries(compose.services)) {
      for (const each of service.depends_on) assert.ok(each in compose.services, `${name} needs ${each}`);
      for (const each of service.networks) assert.ok(each in compose.networks, `${name} is in ${each}`);
      for (const each of service.secrets) assert.ok(each in compose.secrets, `${name} reads ${each}`);
      for (const mount of service.volumes) {
        const [source] = mount.split(":") as [string];
        const isThere = source.startsWith(".") ? existsSync(path.join(DEPLOY, source)) : source in compose.volumes;
        assert.ok(isThere, `${name} mounts ${source}`);
      }
    }
    const mounted = Object.values(compose.services).flatMap(({ volumes }) =>
      volumes.map((mount) => mount.split(":")[0]!),
    );
    for (const volume of Object.keys(compose.volumes)) assert.ok(mounted.includes(volume), volume);
  });

  it("starts nodes of the image with settings that the service accepts", () => {
    assert.equal(nodes.length, 2);
    for (const [name, { build, environment, volumes, secrets, stop_grace_period: grace, depends_on: needs }] of nodes) {
      assert.ok(existsSync(path.join(DEPLOY, build!, "Dockerfile")));
      const variables = { ...image.environment, ...environment };
      assert.deepEqual(unknownVariables(variables), []);
      const config = readConfig({ flags: {}, environment: variables, file: {} });
      assert.equal(config.nodeName, name);
      assert.equal(config.nodeUrl, `http://${name}:${image.ports[0]}`);
      assert.ok(needs.includes(config.redis!.hosts[0]!.host));
      assert.ok(
        volumes.some((mount) => mount.split(":")[1] === image.volumes[0]),
        `${name} keeps its data`,
      );
      for (const file of [config.keys, config.secretsKey, config.redisPasswordFile]) {
        assert.ok(secrets.includes(/^\/run\/secrets\/(\w+)$/.exec(file!)![1]!), file!);
      }
      // The service itself waits 30 s for its runs.
      assert.ok(Number.parseInt(grace!, 10) > 30, grace);
      assert.deepEqual(config.trustProxy.length, 1);
      assert.equal(environment["CAISSON_TRUST_PROXY"], compose.networks["front"]!.ipam!.config[0]!.subnet);
    }
  });

  it("asks for no privilege, and opens one port, on loopback", () => {
    const services = Object.values(compose.services);
    assert.deepEqual(
      services.flatMap(({ ports }) => ports),
      ["127.0.0.1:8080:8080"],
    );
    for (const [, { networks }] of nodes) assert.deepEqual(networks, ["store", "front"]);
    assert.ok(compose.networks["store"]!.internal);
  });

  it("gives nginx a configuration that leads to its nodes", () => {
    const nginx = readFileSync(path.join(DEPLOY, "nginx.conf"), "utf8");
    const servers = [...nginx.matchAll(/^\s*server ([\w-]+:\d+)/gm)].map(([, server]) => server!);
    const expected = nodes.map(([name]) => `${name}:${image.ports[0]}`);
    assert.deepEqual([...new Set(servers)].toSorted(), expected);
    const { volumes, depends_on: needs } = compose.services["nginx"]!;
    assert.deepEqual(volumes, ["./nginx.conf:/etc/nginx/nginx.conf:ro"]);
    assert.deepEqual(
      needs,
      nodes.map(([name]) => name),
    );
    assert.match(nginx, /^\s*listen 8080\b/m);
  });

  it(
    "starts a Redis that loses no answered write and evicts nothing, with the password of the file",
    { skip: noRedis },
    async () => {
      await using folder = await mkdtempDisposable(path.join(tmpdir(), "caisson-compose-"));
      const port = await freePort();
      await writeFile(path.join(folder.path, "redis_password"), "the-password\n");
      const [sh, flag, script] = compose.services["redis"]!.command!;
      // What Compose and the container change: the dollar, the place of the secret, the address and the folder.
      const line = script!
        .replaceAll("$$", "$")
        .replace("/run/secrets", folder.path)
        .replace("redis-server -", `redis-server - --bind 127.0.0.1 --port ${port} --dir ${folder.path}`);
      const server = spawn(sh!, [flag!, line], { stdio: "ignore" });
      const exited = once(server, "exit");
      const client = new Redis(port, { password: "the-password" });
      client.on("error", () => {});
      try {
        const value = async (name: string): Promise<string> => (await client.config("GET", name))[1]!;
        for (const [name, expected] of [
          ["appendonly", "yes"],
          ["appendfsync", "always"],
          ["save", ""],
          ["maxmemory-policy", "noeviction"],
        ] as const) {
          assert.equal(await value(name), expected, name);
        }
      } finally {
        client.disconnect();
        server.kill("SIGTERM");
        // Redis has replaced the shell, so it receives the signal, and ends with 0.
        assert.deepEqual(await exited, [0, null]);
      }
    },
  );
});
