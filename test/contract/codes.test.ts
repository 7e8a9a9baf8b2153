import { once } from "node:events";
import { readdir, rm } from "node:fs/promises";
import { type IncomingMessage, request as httpRequest } from "node:http";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { type ProblemCode, PROBLEMS } from "../../src/error-codes.ts";
import { TestRegistry } from "../builder/test-registry.ts";
import { missing, startRedis } from "../redis/server.ts";
import { type CodeServer, closedAddress, serveCode } from "./code-server.ts";
import { type Answer, collect, type RequestOptions } from "./http.ts";
import { hasPrlimit, limitFiles } from "./limit-files.ts";
import { assertProblem } from "./problem.ts";
import { leave, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { pause, until } from "./until.ts";

const CODE_LIMIT = 65_536;
const LIMITS = ["--code-limit", "64KiB", "--family-secrets", "1KiB"];
/** Room for one run in a container, and for one container. */
const CROWDED = [...NO_WALL, "--concurrency", "1", "--max-containers", "1", "--token-containers", "9"];
const FLAGS = [...LIMITS, "--block-limit", "1s", "--wall-limit", "30s"];
const WAITS = "(context) => new Promise((resolve) => context.signal.addEventListener('abort', resolve))";

const NO_REDIS = await missing("redis-server");

let service: Service;
let crowded: Service;
let code: CodeServer;
let closed: string;
let registry: TestRegistry;

before(async () => {
  code = await serveCode((request, response) => {
    if (request.url === "/page") return response.setHeader("content-type", "text/html").end("<p>a page about code</p>");
    if (request.url === "/large") return response.end("1".repeat(CODE_LIMIT + 1));
    return response.writeHead(404).end();
  });
  closed = await closedAddress();
  registry = await TestRegistry.open();
  registry.publish("native", "1.0.0", { "index.js": "" }, { manifest: { gypfile: true } });
  registry.publish("broken", "1.0.0", { "index.js": 'import "./missing.js"' });
  registry.instead.set("/gone", (_, response) => response.destroy());
  const npm = ["--npm", "any", "--npm-registry", registry.url.href, "--npm-min-age", "0s"];
  const open = [code.address, closed].flatMap((address) => ["--egress-allow", address]);
  [service, crowded] = await Promise.all([startService([...FLAGS, ...open, ...npm]), startService(CROWDED)]);
});
after(async () => {
  await Promise.all([service.stop(), crowded.stop()]);
  registry.close();
  await code.close();
});

/** Uses a new container for each run, because a container whose guests end again and again has to wait. */
let used = 0;
const run = (text: string, options?: RequestOptions): Promise<Answer> => {
  return service.run(`codes-${++used}`, text, options);
};
const runUrl = (url: string): Promise<Answer> =>
  service.request("POST", "/api/run/codes", { query: { task_url: url } });

/** Cancels the run in a container, when it has begun. */
async function cancelOnly(container: string): Promise<void> {
  let id: string | undefined;
  await until(async () => {
    const { runs } = (await service.request("GET", `/api/runs/${container}`)).json() as { runs: { run: string }[] };
    id = runs[0]?.run;
    return id !== undefined;
  }, "the run is listed");
  await service.request("DELETE", `/api/runs/${container}/${id}`);
}

/** Provokes each code of the table. A code that is missing here does not compile. */
const PROVOKED: Readonly<Record<ProblemCode, () => Promise<Answer>>> = {
  container_invalid: () => service.run("-", "1"),
  request_invalid: () => service.request("POST", "/api/run/codes?task_ulr=x", { body: "1" }),
  credentials_ambiguous: () => service.request("POST", `/api/run/codes?key=${service.admin}`, { body: "1" }),
  code_missing: () => run(" \n"),
  code_ambiguous: () => service.request("POST", "/api/run/codes?task_url=http://a.example/", { body: "1" }),
  code_too_large: () => run("1".repeat(CODE_LIMIT + 1)),
  code_syntax: () => run("const = 1"),
  code_shape: () => run("class A {}"),
  container_suspended: async () => {
    await service.request("POST", "/api/containers/codes-suspended/suspend");
    return service.run("codes-suspended", "1");
  },
  module_missing: () => run("import _ from 'lodash'; export default _"),
  code_pinned: async () => {
    return run("1", { token: await service.issue({ containers: ["*"], code: { sha256: "0".repeat(64) } }) });
  },
  task_url_invalid: () => runUrl("ftp://a.example/"),
  task_url_forbidden: () => runUrl("http://169.254.169.254/"),
  task_url_unreachable: () => runUrl(`http://${closed}/`),
  task_url_status: () => runUrl(`${code.url}/absent`),
  task_url_too_large: () => runUrl(`${code.url}/large`),
  task_url_not_code: () => runUrl(`${code.url}/page`),
  task_error: () => run("(cb) => cb(new Error('called back'))"),
  token_missing: () => run("1", { token: null }),
  token_invalid: () => run("1", { token: "no.token.atall" }),
  origin_forbidden: () => service.request("POST", "/mcp", { json: {}, headers: { origin: "https://evil.example" } }),
  token_forbidden: async () => run("1", { token: await service.issue({ containers: ["other"] }) }),
  quota_exceeded: async () => {
    const token = await service.issue({ containers: ["codes"], can: ["run", "issue"], depth: 1 });
    const json = { containers: ["codes"], secretsReadable: true, secrets: { KEY: "x".repeat(2_000) } };
    return service.request("POST", "/api/tokens", { json, token });
  },
  not_found: () => service.request("GET", "/api/nothing"),
  method_not_allowed: () => service.request("PUT", "/api/limits/container/codes"),
  precondition_failed: () => {
    const options = { json: { code: "1" }, headers: { "if-match": '"x"' } };
    return service.request("PUT", "/api/tasks/codes/task", options);
  },
  run_cancelled: async () => {
    const running = service.run("cancelled", "await new Promise((resolve) => setTimeout(resolve, 10_000))");
    await cancelOnly("cancelled");
    return running;
  },
  container_limited: () => twice({ containers: ["codes"], limits: { container: { month: 1 } } }),
  token_limited: () => twice({ containers: ["codes"], limits: { token: { month: 1 } } }),
  container_busy: () => whileCrowded("held", "held"),
  auth_limited: () => {
    return onOtherService(["--auth-limit", "hour=1"], async (other) => {
      await other.run("codes", "1", { token: "no.token.atall" });
      return other.run("codes", "1", { token: "no.other.either" });
    });
  },
  task_threw: () => run("throw new Error('thrown')"),
  task_timeout: () => run("new Promise((resolve) => setTimeout(resolve, 60_000))", { query: { timeout: "3s" } }),
  task_stalled: () => run("new Promise(() => {})"),
  task_blocked: () => run("for (;;);"),
  task_memory: () =>
    run("const all = []; for (;;) { all.push(Buffer.alloc(1e6, 1)); await new Promise(setImmediate); }"),
  task_exited: () => run("process.exit(1)"),
  result_unserializable: () => run("10n"),
  result_too_large: () => run("'x'.repeat(7_000_000)"),
  container_restarted: async () => {
    await service.run("shared", "1");
    const victim = service.run("shared", WAITS);
    await until(async () => (await inFlight(service, "shared")) === 1, "the victim is in flight");
    await service.run("shared", "process.exit(1)");
    return victim;
  },
  sandbox_failed: () => {
    return onOtherService(["--pool", "0"], async (other, tmp) => {
      // Removes the files that guests are started from, so that no new guest can start.
      for (const name of await readdir(tmp)) await rm(path.join(tmp, name), { recursive: true });
      return other.run("codes", "1");
    });
  },
  internal_error: () => Promise.reject(new Error("no request provokes a bug")),
  draining: whileStopping,
  overloaded: () => whileCrowded("held", "other"),
  store_unavailable: async () => {
    await limitFiles(crowded, "1");
    const answer = await untilRefused(() => crowded.run("codes", "1"));
    await limitFiles(crowded, "unlimited");
    return answer;
  },
  packages_forbidden: () => crowded.run("codes", 'import "npm:a@1"'),
  packages_not_found: () => run('import "npm:missing@1"'),
  packages_native: () => run('import "npm:native@1"'),
  packages_too_large: () => run(Array.from({ length: 60 }, (_, at) => `import "npm:a${at}"`).join("\n")),
  packages_failed: () => run('import "npm:broken@1"'),
  packages_building: async () => {
    const token = await service.issue({ containers: ["codes-*"], timeout: "10ms" });
    const held = Promise.withResolvers<void>();
    registry.instead.set("/silent", (_, response) => void held.promise.then(() => response.destroy()));
    const answer = await run('import "npm:silent@1"', { token });
    // The next build waits for this one.
    held.resolve();
    return answer;
  },
  packages_unavailable: () => run('import "npm:gone@1"'),
  node_unavailable: async () => {
    await using redis = await startRedis();
    // A node that has announced itself, but does not announce where it is.
    await redis.client.zadd("caisson:{caisson}:nodes:seen", Date.now(), "0123456789ab");
    return await onOtherService(["--redis", redis.url], (other) =>
      other.request("GET", "/api/runs/codes/0123456789ab-1"),
    );
  },
};

/** Returns the answer to the second of two runs of a token with these claims. */
async function twice(claims: object): Promise<Answer> {
  const token = await service.issue(claims);
  await service.run("codes", "1", { token });
  return service.run("codes", "1", { token });
}

/** Returns the answer of a separate service. */
async function onOtherService(
  flags: readonly string[],
  ask: (other: Service, tmp: string) => Promise<Answer>,
): Promise<Answer> {
  const home = await makeHome();
  const other = await startService([...NO_WALL, ...flags], home);
  try {
    return await ask(other, home.tmp);
  } finally {
    await leave(other, home);
  }
}

/** Returns the answer to a run while another run waits for its caller, on a service with room for one. */
async function whileCrowded(occupiedContainer: string, container: string): Promise<Answer> {
  const leaving = new AbortController();
  const occupied = crowded.run(occupiedContainer, WAITS, { signal: leaving.signal }).catch(() => null);
  await until(async () => (await inFlight(crowded, occupiedContainer)) === 1, "the first run is in flight");
  const answer = await crowded.run(container, "1");
  leaving.abort();
  await occupied;
  return answer;
}

async function inFlight(of: Service, container: string): Promise<number | undefined> {
  const { containers } = (await of.request("GET", "/api/containers")).json() as {
    containers: { container: string; running: number }[];
  };
  return containers.find((each) => each.container === container)?.running;
}

/** Sends the rest of a request after the service has stopped accepting connections. */
async function whileStopping(): Promise<Answer> {
  const home = await makeHome();
  const other = await startService(NO_WALL, home);
  const sent = httpRequest({ port: other.port, method: "POST", path: "/api/run/codes", agent: false });
  sent.setHeader("authorization", `Bearer ${other.admin}`);
  sent.write("1");
  // Both are on one event loop, so the service has seen the first request before it answers this one.
  await other.run("codes", "1");
  const left = leave(other, home);
  await until(async () => (await other.run("codes", "1").catch(() => null)) === null, "no connection is accepted");
  // Requests that are already accepted are served for two more seconds.
  await pause(3_000);
  sent.end("");
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const answer = await collect(response);
  await left;
  return answer;
}

async function untilRefused(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    // The guest of the test before may still be ending.
    if (answer.status !== 200 && !answer.text.includes('"overloaded"')) return answer;
  }
}

/** The codes that cannot be provoked on this machine, with the reason. */
const MISSING: Partial<Record<ProblemCode, string>> = {
  internal_error: "only a bug causes it: test/http/problem.test.ts tests its answer",
  ...(hasPrlimit() ? {} : { store_unavailable: "there is no prlimit" }),
  ...(NO_REDIS ? { node_unavailable: NO_REDIS } : {}),
};

describe("every code of the table of errors can be provoked over HTTP", () => {
  for (const name of Object.keys(PROBLEMS) as ProblemCode[]) {
    const skip = MISSING[name] ?? false;
    it(name, { skip }, async () => {
      assertProblem(await PROVOKED[name](), PROBLEMS[name].status, name);
    });
  }
});
