import assert from "node:assert/strict";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { startTopology, type Topology } from "../../bench/scale/topology.ts";
import { request } from "../contract/http.ts";
import { connectMcp, type McpClient, type McpServerPlace, type Protocol, PROTOCOLS } from "../contract/mcp-clients.ts";
import { NO_WALL } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { missing } from "../redis/server.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const CONTAINERS = Array.from({ length: 8 }, (_, at) => `agent-${at}`);
const WAYS = ["HTTP", "stdio"] as const;

describe(
  "MCP behind nginx, with two nodes on one Redis",
  { skip: (await missing("redis-server")) || (await missing("nginx")) },
  () => {
    let topology: Topology;
    before(async () => {
      topology = await startTopology(2, [...NO_WALL, "--pool", "2"]);
      await until(knowEachOther, "both nodes ask each other");
    });
    after(() => topology[Symbol.asyncDispose]());

    async function knowEachOther(): Promise<boolean> {
      const answers = topology.nodes.map(async ({ port }) => {
        const answer = await request(port, "GET", "/api/runs", { token: topology.admin });
        return (answer.json() as { nodes: { asked: number; answered: number } }).nodes;
      });
      return (await Promise.all(answers)).every(({ asked, answered }) => asked === 2 && answered === 2);
    }

    async function issue(claims: object): Promise<string> {
      const answer = await request(topology.port, "POST", "/api/tokens", { token: topology.admin, json: claims });
      return (answer.json() as { token: string }).token;
    }

    /** @param container the container of the path; null to let the token choose it */
    function connect(
      protocol: Protocol,
      way: (typeof WAYS)[number],
      token: string,
      container: string | null,
    ): Promise<McpClient> {
      const url = `http://127.0.0.1:${topology.port}`;
      const words = container === null ? [] : ["--container", container];
      const place: McpServerPlace =
        way === "HTTP"
          ? { url: container === null ? `${url}/mcp` : `${url}/mcp/${container}`, token }
          : {
              command: path.join(ROOT, "scripts/node"),
              args: [path.join(ROOT, "dist/main.js"), "mcp", "--url", url, ...words],
              env: { PATH: process.env["PATH"]!, CAISSON_TOKEN: token },
            };
      return connectMcp(protocol, place);
    }

    for (const protocol of PROTOCOLS) {
      for (const way of WAYS) {
        it(`serves a client of ${protocol} over ${way}: tools, errors with their line, and exact limits`, async () => {
          const name = `twice-${protocol}-${way}`;
          const limits = { token: { day: 4 } };
          const container = `own-${protocol}-${way}`;
          const token = await issue({ containers: [container], can: ["run", "tasks", "logs"], limits });
          await using client = await connect(protocol, way, token, null);
          // The client of 2025 does not tell it over stdio.
          const version = protocol === "2026" ? "2026-07-28" : way === "HTTP" ? "2025-11-25" : undefined;
          assert.equal(client.protocol, version);
          const printed = '{"jsonrpc":"2.0","id":0,"result":{}}\n\ndata: {}\n\u001b[2J';
          const text = JSON.stringify(printed);
          const code = `console.log(${text}); process.stdout.write(${text});\n${text}`;
          const forged = await client.call("run_code", { code });
          assert.deepEqual([forged.isError, forged.structured["result"]], [false, printed]);
          const wrong = await client.call("run_code", { code: "const a = 1;\na.b.c" });
          assert.match(wrong.text, /^TypeError: .*\nat task\.js:2:5\n/);
          const saved = await client.call("save_task", { name, code: "(context) => 2 * context.body.n" });
          assert.match(saved.text, /is created: version 1/);
          assert.deepEqual(
            (await client.tools()).map((tool) => tool.name),
            ["run_code", "save_task", "list_tasks", "get_runs", name],
          );
          assert.equal((await client.call(name, { n: 4 })).structured["result"], 8);
          const runs = await client.call("get_runs");
          assert.deepEqual(
            [(runs.structured["runs"] as unknown[]).length, runs.structured["nodes"]],
            [3, { asked: 2, answered: 2 }],
          );
          const calls = await Promise.all([1, 2, 3].map((n) => client.call(name, { n })));
          assert.equal(calls.filter(({ isError }) => !isError).length, 1);
          const refused = calls.find(({ isError }) => isError)!;
          assert.match(refused.text, /allows 4 runs a day; the next fits in \d+ s .*token_limited/);
        });
      }

      it(`runs the calls of a client of ${protocol} on the node of their container, and cancels them there`, async () => {
        const token = await issue({ containers: ["agent-*"], can: ["run", "logs"] });
        const nodes = new Set<unknown>();
        for (const container of CONTAINERS) {
          await using client = await connect(protocol, "HTTP", token, container);
          const calls = await Promise.all([1, 2, 3].map((n) => client.call("run_code", { code: String(n) })));
          const places = new Set(calls.map(({ structured }) => structured["node"]));
          assert.equal(places.size, 1, container);
          for (const place of places) nodes.add(place);
        }
        assert.equal(nodes.size, 2, "each node has some containers");
        for (const way of WAYS) {
          const [container] = CONTAINERS;
          await using client = await connect(protocol, way, token, container!);
          const controller = new AbortController();
          const code = `'${way}'; await new Promise(() => setInterval(() => {}, 1_000))`;
          const calling = client.call("run_code", { code }, controller.signal);
          const statuses = async (): Promise<string[]> => {
            const { runs } = (await client.call("get_runs", { limit: 1 })).structured as { runs: { status: string }[] };
            return runs.map(({ status }) => status);
          };
          await until(async () => (await statuses())[0] === "running", "the run is in flight");
          controller.abort();
          await assert.rejects(calling);
          await until(async () => (await statuses())[0] === "cancelled", "the run is cancelled");
        }
      });
    }
  },
);
