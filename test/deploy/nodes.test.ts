import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { startTopology, type Topology } from "../../bench/scale/topology.ts";
import { Caisson, type ContainerEvent } from "../../client/src/index.ts";
import { checkInThemes, openBrowser, openConsole, openPage, openPlace } from "../console/console-browser.ts";
import { type Answer, request, type RequestOptions } from "../contract/http.ts";
import { assertProblem } from "../contract/problem.ts";
import { NO_WALL } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import { missing } from "../redis/server.ts";

interface NodeCount {
  asked: number;
  answered: number;
}

interface Page {
  runs: { run: string; container: string; node: string }[];
  next: string | null;
  nodes: NodeCount;
}

const BOTH: NodeCount = { asked: 2, answered: 2 };
const CONTAINERS = Array.from({ length: 8 }, (_, at) => `shop-${at}`);
const LASTING = `await new Promise(() => setInterval(() => {}, 1_000))`;

describe(
  "reads of records behind nginx, with two nodes on one Redis",
  { skip: (await missing("redis-server")) || (await missing("nginx")) },
  () => {
    let topology: Topology;
    let token: string;

    before(async () => {
      topology = await startTopology(2, (number) => [...NO_WALL, "--pool", "2", "--wall-limit", `${10 * number}s`]);
      token = await issue({ containers: ["shop-*", "own"], can: ["run", "logs"] });
      await untilBoth();
    });
    after(() => topology[Symbol.asyncDispose]());

    const through = (method: string, target: string, options: RequestOptions = {}): Promise<Answer> =>
      request(topology.port, method, target, { token, ...options });
    const on = (node: number, method: string, target: string, options: RequestOptions = {}): Promise<Answer> =>
      request(topology.nodes[node]!.port, method, target, { token, ...options });

    async function untilBoth(): Promise<void> {
      await until(seesBoth, "both nodes ask each other");
    }

    async function seesBoth(): Promise<boolean> {
      const pages = await Promise.all([0, 1].map((at) => on(at, "GET", "/api/runs")));
      return pages.every((page) => isDeepStrictEqual((page.json() as Page).nodes, BOTH));
    }

    async function issue(claims: object): Promise<string> {
      const answer = await request(topology.port, "POST", "/api/tokens", { token: topology.admin, json: claims });
      return (answer.json() as { token: string }).token;
    }

    /** Runs code on a node, whatever nginx would choose. @returns the id of the run */
    async function runOn(node: number, container: string, code: string, by: string = token): Promise<string> {
      const answer = await on(node, "POST", `/api/runs/${container}`, { body: code, token: by });
      assert.equal(answer.status, 200, answer.text);
      return (answer.json() as { run: string }).run;
    }

    /** Starts a run on a node that lasts until it is cancelled. @returns its id and its answer */
    async function begin(node: number, container: string): Promise<{ run: string; answer: Promise<Answer> }> {
      const answer = on(node, "POST", `/api/runs/${container}`, { body: LASTING });
      let run = "";
      await until(async () => {
        const page = (await on(node, "GET", `/api/runs/${container}?status=running`)).json() as Page;
        run = page.runs[0]?.run ?? "";
        return run !== "";
      }, "the run is listed");
      return { run, answer };
    }

    it("give code its secrets on each node, whichever node has sealed them", async () => {
      const code = "module.exports = ({ secrets }) => secrets.KEY.length";
      for (const sealing of [0, 1]) {
        const claims = { containers: ["sealed"], secretsReadable: true, secrets: { KEY: "s3cret" } };
        const sealed = await on(sealing, "POST", "/api/tokens", { token: topology.admin, json: claims });
        const { token: own } = sealed.json() as { token: string };
        for (const running of [0, 1]) {
          const answer = await on(running, "POST", "/api/run/sealed", { token: own, body: code });
          assert.deepEqual([answer.status, answer.text], [200, "6"], `sealed by ${sealing}, run by ${running}`);
        }
        const answer = await through("POST", "/api/run/sealed", { token: own, body: code });
        assert.deepEqual([answer.status, answer.text], [200, "6"]);
      }
    });

    it("list the runs of all nodes, each once, over all pages", async () => {
      const made: string[] = [];
      for (const [at, container] of CONTAINERS.entries()) {
        for (let count = 0; count < 3; count++) made.push(await runOn((at + count) % 2, container, `return ${count}`));
      }
      const seen: Page["runs"] = [];
      for (let target = "/api/runs?limit=5"; ;) {
        const page = (await through("GET", target)).json() as Page;
        assert.deepEqual(page.nodes, BOTH);
        assert.ok(page.runs.length <= 5);
        seen.push(...page.runs);
        if (page.next === null) break;
        target = `/api/runs?limit=5&cursor=${page.next}`;
      }
      assert.deepEqual(seen.map(({ run }) => run).toSorted(), made.toSorted());
      assert.deepEqual(new Set(seen.map(({ node }) => node)), new Set(["n1", "n2"]));
      const ofOne = (await through("GET", "/api/runs/shop-0")).json() as Page;
      assert.deepEqual([ofOne.runs.length, ofOne.nodes], [3, BOTH]);
    });

    it("follow the runs of all nodes on each node, each once, also after a node was started again", async () => {
      const stop = new AbortController();
      const own = await issue({ containers: ["live", "shop-*"], can: ["run", "logs"] });
      const streams = await Promise.all([0, 1].map((node) => follow(node, own, stop.signal)));
      const lines = (at: number): string[] =>
        streams[at]!.flatMap((each) => (each.type === "console" ? [each.text] : []));
      const print = (node: number, text: string): Promise<Answer> =>
        on(node, "POST", "/api/runs/live", { token: own, body: `console.log("${text}")` });
      for (const node of [0, 1]) await print(node, `on ${node}`);
      for (const at of [0, 1]) {
        await until(() => streams[at]!.filter(({ type }) => type === "record").length === 2, "both runs have arrived");
        assert.deepEqual(lines(at).toSorted(), ["on 0", "on 1"]);
      }
      await topology.nodes[1]!.signal("SIGKILL");
      await until(() => streams[0]!.some(({ type }) => type === "lost"), "the first node reports the missing events");
      await topology.nodes[1]!.start();
      // The node is found when it has announced itself.
      await until(async () => {
        await print(1, "again");
        return lines(0).includes("again");
      }, "the events of the new process arrive");
      stop.abort();
      // The killed process is asked until the lease of its announcement ends.
      await untilBoth();
    });

    /** Follows all containers of a token on a node. @returns the events, which grow */
    async function follow(node: number, own: string, signal: AbortSignal): Promise<ContainerEvent[]> {
      const caisson = new Caisson({ url: `http://127.0.0.1:${topology.nodes[node]!.port}`, token: own });
      const events: ContainerEvent[] = [];
      const open = Promise.withResolvers<void>();
      const read = async (): Promise<void> => {
        const options = { signal, onOpen: () => open.resolve() };
        for await (const event of caisson.runs.followAll(options)) events.push(event);
      };
      read().catch((error: Error) => open.reject(error));
      await open.promise;
      return events;
    }

    it("send the requests about the runs of a container to the node that runs it", async () => {
      for (const container of CONTAINERS) {
        const run = (await through("POST", `/api/run/${container}`, { body: "1" })).headers["caisson-run"]!;
        const recorded = (await through("POST", `/api/runs/${container}`, { body: "1" })).json() as { run: string };
        assert.equal(recorded.run.split("-")[0], run.split("-")[0]);
      }
    });

    it("find a run on the node that its id names", async () => {
      const run = await runOn(1, "own", `console.log("from n2"); return 1`);
      for (const node of [0, 1]) {
        const record = (await on(node, "GET", `/api/runs/own/${run}`)).json() as { node: string; console: unknown[] };
        assert.deepEqual([record.node, record.console.length], ["n2", 1]);
        const printed = await on(node, "GET", `/api/runs/own/${run}/console`);
        assert.match(printed.text, /^ *\d+ ms info {2}from n2\n$/);
        const lines = await on(node, "GET", `/api/runs/own/${run}/console`, {
          headers: { Accept: "application/x-ndjson" },
        });
        assert.equal((JSON.parse(lines.text) as { run: string }).run, run);
      }
      assertProblem(await on(0, "GET", "/api/runs/own/0123456789ab-1"), 404, "not_found");
      assertProblem(await on(0, "GET", "/api/runs/own/none"), 404, "not_found");
    });

    it("show the code of a named task only to tokens with the verb tasks, also from another node", async () => {
      const owner = await issue({ containers: ["own"], can: ["run", "tasks", "logs"] });
      await on(0, "PUT", "/api/tasks/own/fails", { token: owner, json: { code: `() => { throw new Error("no") }` } });
      const failed = await on(1, "POST", "/api/runs/own?task=fails", { token: owner });
      const { run } = failed.json() as { run: string };
      const frameFor = async (reader: string): Promise<unknown> => {
        const answer = await on(0, "GET", `/api/runs/own/${run}`, { token: reader });
        return (answer.json() as { error: { at: { frame: unknown } } }).error.at.frame;
      };
      assert.equal(typeof (await frameFor(owner)), "string");
      assert.equal(await frameFor(token), null);
    });

    it("are listed by their names with their checks, and with the settings that differ, by the node that answers", async () => {
      for (const node of [0, 1]) {
        const answer = await on(node, "GET", "/api/system", { token: topology.admin });
        const {
          node: own,
          nodes,
          warnings,
        } = answer.json() as {
          node: { name: string };
          warnings: string[];
          nodes: {
            name: string;
            state: string;
            isolation: string;
            checks: { layer: string }[];
            differences: { flag: string; value: string; here: string }[];
          }[];
        };
        assert.equal(own.name, `n${node + 1}`);
        assert.deepEqual(
          nodes.map(({ name, state }) => [name, state]),
          [
            [`n${node + 1}`, "self"],
            [`n${2 - node}`, "alive"],
          ],
        );
        const other = nodes[1]!;
        assert.equal(other.isolation, "none");
        assert.ok(other.checks.some(({ layer }) => layer.startsWith("Redis")));
        const [here, there] = [`${10 * (node + 1)}s`, `${10 * (2 - node)}s`];
        const limit = other.differences.find(({ flag }) => flag === "--wall-limit")!;
        assert.deepEqual([limit.value, limit.here], [there, here]);
        // That each node has its own port, folder and name is no reason for a warning.
        const different = warnings.filter((each) => each.includes("other settings"));
        const text = `The node n${2 - node} has other settings: --wall-limit is ${there} there, and ${here} here.`;
        assert.deepEqual(different, [text]);
      }
    });

    it("sum failures and usage, and merge the audit", async () => {
      const fails = `throw new RangeError("too far")`;
      const runs = [await runOn(0, "own", fails), await runOn(1, "own", fails)];
      const failures = (await through("GET", "/api/failures?container=own")).json() as {
        failures: { name: string; count: number; run: string }[];
        nodes: NodeCount;
      };
      const found = failures.failures.find(({ name }) => name === "RangeError")!;
      assert.deepEqual([found.count, found.run, failures.nodes], [2, runs[1], BOTH]);

      const usage = (await through("GET", "/api/usage?step=day")).json() as {
        usage: { container: string; runs: Record<string, number> }[];
        nodes: NodeCount;
      };
      const own = usage.usage.filter(({ container }) => container === "own");
      assert.ok(own.length >= 1 && own.length <= 2, "one row for each day");
      assert.equal(
        own.reduce((sum, { runs: { threw = 0 } }) => sum + threw, 0),
        3,
      );
      assert.deepEqual(usage.nodes, BOTH);
      const table = await through("GET", "/api/usage", { headers: { Accept: "text/csv" } });
      assert.equal(table.headers["caisson-nodes"], "asked=2, answered=2");

      const admin = { token: topology.admin };
      for (const at of [0, 1, 0, 1]) {
        await on(at, "PUT", "/api/containers/own", { ...admin, json: { limits: { day: 1_000 + at } } });
      }
      const actions: string[] = [];
      for (let target = "/api/audit?limit=2"; ;) {
        const page = (await through("GET", target, admin)).json() as {
          entries: { at: string; action: string }[];
          next: string | null;
          nodes: NodeCount;
        };
        assert.deepEqual(page.nodes, BOTH);
        actions.push(...page.entries.map(({ at, action }) => `${at} ${action}`));
        if (page.next === null) break;
        target = `/api/audit?limit=2&cursor=${page.next}`;
      }
      assert.deepEqual(actions, actions.toSorted().toReversed());
      assert.ok(actions.length >= 6, actions.join());
    });

    it("are whole in the console of each node: its nodes, its settings that differ, its runs and its live tail", async () => {
      await using browser = await openBrowser();
      await using tab = await openConsole(browser, `http://127.0.0.1:${topology.nodes[0]!.port}`, topology.admin);
      const { page } = tab;
      await openPage(page, "System");
      const nodes = page.getByRole("region", { name: "Nodes" }).getByRole("listitem");
      await nodes.filter({ hasText: "n1" }).getByText("answers you").waitFor();
      await nodes
        .filter({ hasText: "n2" })
        .getByText(/^version .*, isolation none, started /)
        .waitFor();
      const settings = page.getByRole("region", { name: "Settings in force" });
      await settings.getByRole("listitem").filter({ hasText: "--wall-limit" }).getByText("on n2: 20s").waitFor();
      const checks = page.getByRole("region", { name: "Checks of the start" });
      await checks.getByLabel("Node").selectOption("n2");
      await checks.getByText("--isolation none has no sandbox").waitFor();
      await checkInThemes(page, "system-of-two-nodes");
      // Of all containers, and of one, whose runs nginx would send to one node.
      for (const place of ["runs?live=1", "runs?live=1&container=live"]) {
        await openPlace(page, place, "Runs");
        await page.getByText("Connected").waitFor();
        for (const node of [0, 1])
          await runOn(node, "live", `console.log("to follow on ${node}"); return 1`, topology.admin);
        const tail = page.getByRole("list", { name: "Live tail" });
        for (const node of [0, 1]) await tail.getByText(`to follow on ${node}`).waitFor();
      }
      await openPlace(page, "runs?container=live", "Runs");
      await page.getByText(/^\d+ runs$/).waitFor();
      assert.equal(await page.getByText("did not answer").count(), 0);
      await topology.nodes[1]!.signal("SIGKILL");
      for (const name of ["Runs", "Errors", "Usage", "Overview"]) {
        await openPage(page, name);
        await page.getByText(/^1 node of 2 did not answer: its (runs|failures|counts) are missing here/).waitFor();
      }
      assert.deepEqual(tab.complaints, []);
      await topology.nodes[1]!.start();
      await untilBoth();
    });

    it("cancel a run on another node, for a token that may", async () => {
      const { run, answer } = await begin(1, "own");
      const stranger = await issue({ containers: ["own"], can: ["run", "logs"] });
      assertProblem(await on(0, "DELETE", `/api/runs/own/${run}`, { token: stranger }), 404, "not_found");
      const cancelled = await on(0, "DELETE", `/api/runs/own/${run}`);
      assert.deepEqual(cancelled.json(), { run, status: "cancelled" });
      assert.equal(((await answer).json() as { status: string }).status, "cancelled");
      const audit = await through("GET", "/api/audit?action=run+cancelled", { token: topology.admin });
      const { entries } = audit.json() as { entries: { client: string; details: { run: string } }[] };
      assert.deepEqual([entries.length, entries[0]?.details.run, entries[0]?.client], [1, run, "127.0.0.1"]);
    });

    it("refuse the same parameters as a single node does, and ask no node", async () => {
      assertProblem(await through("GET", "/api/runs?since=soon"), 400, "request_invalid");
      assertProblem(await through("GET", "/api/runs?container=foreign"), 403, "token_forbidden");
      assertProblem(await through("GET", "/api/audit"), 403, "token_forbidden");
    });

    it("find the runs of a node that was started again, and count it while it is away", async () => {
      const run = await runOn(1, "own", `console.log("kept")`);
      await topology.nodes[1]!.signal("SIGTERM");
      const away = (await on(0, "GET", "/api/runs")).json() as Page;
      assert.deepEqual(away.nodes, { asked: 2, answered: 1 });
      assertProblem(await on(0, "GET", `/api/runs/own/${run}`), 503, "node_unavailable");
      await topology.nodes[1]!.start();
      await untilBoth();
      const record = (await on(0, "GET", `/api/runs/own/${run}`)).json() as { console: { text: string }[] };
      assert.equal(record.console[0]?.text, "kept");
    });

    it("count a killed node that did not answer, and answer without it", async () => {
      const lost = await runOn(1, "own", "return 1");
      await topology.nodes[1]!.signal("SIGKILL");
      for (const target of ["/api/runs", "/api/runs/own", "/api/usage", "/api/failures"]) {
        const answer = await through("GET", target);
        assert.deepEqual([answer.status, (answer.json() as Page).nodes], [200, { asked: 2, answered: 1 }], target);
      }
      assert.equal(((await on(0, "GET", "/api/failures")).json() as { complete: boolean }).complete, false);
      assertProblem(await on(0, "GET", `/api/runs/own/${lost}`), 503, "node_unavailable");
      assertProblem(await on(0, "DELETE", `/api/runs/own/${lost}`), 503, "node_unavailable");
      const { runs } = (await on(0, "GET", "/api/runs")).json() as Page;
      assert.ok(runs.length > 0 && runs.every(({ node }) => node === "n1"));
      const system = await on(0, "GET", "/api/system", { token: topology.admin });
      const { warnings } = system.json() as { warnings: string[] };
      assert.ok(
        warnings.some((each) => /^The node n2 (?:did not answer|is silent)/.test(each)),
        warnings.join(),
      );
      await topology.nodes[1]!.start();
      await untilBoth();
    });

    it("answer in time while a node stands still", async () => {
      topology.nodes[1]!.pause();
      try {
        const page = (await on(0, "GET", "/api/runs")).json() as Page;
        assert.deepEqual(page.nodes, { asked: 2, answered: 1 });
      } finally {
        topology.nodes[1]!.resume();
      }
      await untilBoth();
    });
  },
);
