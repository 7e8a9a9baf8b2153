import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, it, type TestContext } from "node:test";

import { parse } from "yaml";

import { end } from "../../bench/scale/topology.ts";
import { isPrivileged } from "../../src/sandbox/privilege.ts";
import { missing } from "../redis/server.ts";

const DEPLOY = path.join(import.meta.dirname, "../../deploy");
/** The number of local ports in the namespace of nginx. */
const PORTS = 200;
const PROXY = "10.77.0.1";
const NODE = "10.77.0.2";

/** A node that refuses each request, as it does without a token. */
const REFUSING = `
  require("node:http")
    .createServer((_, response) => response.writeHead(403).end("no"))
    .listen(7070, "${NODE}", () => console.log("listens"));
`;

/** Sends requests, one after the other, until as many as given were answered by a node. A failed one is sent again. */
const CLIENT = `
  const agent = new http.Agent({ keepAlive: true });
  let answered = 0;
  const send = () => {
    const request = http.request({ agent, host: "127.0.0.1", port: 8080, path: "/api/run/x", method: "POST" });
    request.on("response", (response) => {
      if (response.statusCode === 403) answered += 1;
      response.resume().on("end", () => (answered < Number(process.argv[1]) ? setTimeout(send, response.statusCode === 403 ? 0 : 100) : process.exit()));
    });
    request.on("error", () => setTimeout(send, 100));
    request.end();
  };
  send();
`;

function whyNot(): string | false {
  if (!isPrivileged()) return "only root can create network namespaces";
  const name = `caisson-try-${process.pid}`;
  try {
    execFileSync("ip", ["netns", "add", name], { stdio: "ignore" });
    execFileSync("ip", ["netns", "del", name], { stdio: "ignore" });
    return false;
  } catch {
    return "no network namespace can be created here";
  }
}

function ip(text: string): void {
  execFileSync("ip", text.split(" "));
}

/** Creates two machines with one line between them. Loopback would hide the ports, because the kernel reuses them there. */
function machines(t: TestContext): { proxy: string; node: string } {
  const [proxy, node] = [`caisson-a-${process.pid}`, `caisson-b-${process.pid}`];
  for (const name of [proxy, node]) {
    ip(`netns add ${name}`);
    t.after(() => ip(`netns del ${name}`));
  }
  ip(`link add line netns ${proxy} type veth peer name line netns ${node}`);
  for (const [name, address] of [
    [proxy, PROXY],
    [node, NODE],
  ] as const) {
    ip(`-n ${name} addr add ${address}/24 dev line`);
    ip(`-n ${name} link set lo up`);
    ip(`-n ${name} link set line up`);
  }
  return { proxy, node };
}

function startIn(t: TestContext, namespace: string, words: readonly string[]): ChildProcess {
  const child = spawn("ip", ["netns", "exec", namespace, ...words], { stdio: ["ignore", "pipe", "ignore"] });
  t.after(() => end(child, "SIGTERM"));
  return child;
}

const noNginx = await missing("nginx");

describe("nginx of deploy/compose.yaml", { skip: noNginx === false ? whyNot() : noNginx }, () => {
  it("serves more requests than it has local ports for a node, because it uses the ports of ended connections again", async (t) => {
    const { proxy, node } = machines(t);
    const { services } = parse(readFileSync(path.join(DEPLOY, "compose.yaml"), "utf8"), { merge: true }) as {
      services: { nginx: { sysctls?: Record<string, string> } };
    };
    const sysctls = { ...services.nginx.sysctls, "net.ipv4.ip_local_port_range": `40000 ${40_000 + PORTS - 1}` };
    for (const [name, value] of Object.entries(sysctls)) {
      execFileSync("ip", ["netns", "exec", proxy, "sysctl", "-qw", `${name}=${value}`]);
    }
    await once(startIn(t, node, [process.execPath, "-e", REFUSING]).stdout!, "data");
    const folder = await mkdtemp(path.join(tmpdir(), "caisson-ports-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await chmod(folder, 0o755);
    const config = readFileSync(path.join(DEPLOY, "nginx.conf"), "utf8")
      .replace("caisson-1:7070", `${NODE}:7070`)
      .replaceAll(/^ *server caisson-\d+:7070.*\n/gm, "")
      .replaceAll(" /tmp/", ` ${folder}/`);
    const file = path.join(folder, "nginx.conf");
    await writeFile(file, `user root;\n${config}`);
    startIn(t, proxy, ["nginx", "-p", folder, "-e", "stderr", "-c", file, "-g", "daemon off;"]);
    const client = startIn(t, proxy, [process.execPath, "-e", CLIENT, String(4 * PORTS)]);
    assert.deepEqual(await once(client, "exit", { signal: AbortSignal.timeout(40_000) }), [0, null]);
  });
});
