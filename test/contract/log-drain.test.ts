import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";

import { NO_WALL, startService } from "./service.ts";
import { until } from "./until.ts";

interface Sent {
  readonly container: string;
  readonly run: string;
}

/** Prints lines of 4,000 control characters, which have 24 KB in a record. */
function printing(lines: number): string {
  return `for (let line = 0; line < ${lines}; line++) console.log("\\u0001".repeat(4_000)); console.log(1); return 1`;
}

it("a token with 50 tokens below it that floods a slow collector takes no record of another token", async () => {
  const received: Sent[] = [];
  const waiting: ServerResponse[] = [];
  let isSlow = true;
  const collector = createServer((request, response) => {
    void (async () => {
      let body = "";
      for await (const part of request.setEncoding("utf8")) body += String(part);
      received.push(
        ...body
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as Sent),
      );
      if (isSlow) waiting.push(response);
      else response.end();
    })();
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
  const { port } = collector.address() as AddressInfo;
  const drain = ["--log-drain", `http://127.0.0.1:${port}/`, "--log-drain-rate", "6MiB", "--disk-queue", "4MiB"];
  const service = await startService([...NO_WALL, ...drain, "--container-limit", "hour=1000000"]);
  try {
    const parent = await service.issue({ containers: ["loud-*"], can: ["run", "issue"], depth: 1 });
    const loud: string[] = [];
    for (let at = 0; at < 50; at++) {
      const json = { containers: [`loud-${at % 8}`], can: ["run"] };
      loud.push(
        ((await service.request("POST", "/api/tokens", { token: parent, json })).json() as { token: string }).token,
      );
    }
    const losses = async (): Promise<Record<string, unknown>> => {
      const { records } = (await service.request("GET", "/healthz")).json() as {
        records?: { logDrain?: Record<string, unknown> };
      };
      return records?.logDrain ?? {};
    };
    let runs = 0;
    const flood = async (lines: number): Promise<void> => {
      const at = runs++ % loud.length;
      const answer = await service.run(`loud-${at % 8}`, printing(lines), { token: loud[at]! });
      assert.equal(answer.status, 200, answer.text);
    };
    // Ever smaller records leave no room in the queue.
    for (const lines of [15, 1, 0]) {
      const before = (await losses())["dropped"];
      while ((await losses())["dropped"] === before) await flood(lines);
    }
    const quiet = await service.issue({ containers: ["quiet"] });
    const expected: string[] = [];
    for (let at = 0; at < 10; at++) {
      const answer = await service.run("quiet", `console.log(${at}); return 1`, { token: quiet });
      expected.push(answer.headers["caisson-run"]!);
      await flood(0);
    }
    // A flood that goes on has no more than its share of a minute.
    while (!("omitted" in (await losses()))) await flood(15);
    isSlow = false;
    for (const response of waiting) response.end();
    const ofQuiet = (): string[] => received.filter(({ container }) => container === "quiet").map(({ run }) => run);
    await until(() => ofQuiet().length === expected.length, "all records of the quiet token have arrived");
    assert.deepEqual(ofQuiet(), expected);
    const { dropped, omitted } = (await losses()) as { dropped: number; omitted: number };
    await until(() => received.length === runs + expected.length - dropped - omitted, "each other record has arrived");
  } finally {
    await service.stop();
    collector.closeAllConnections();
    collector.close();
  }
});
