import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { after, before, describe, it } from "node:test";

import { collect, respond } from "./http.ts";
import { NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

const CLIENTS = 12;

let service: Service;
before(async () => {
  service = await startService([...NO_WALL, "--container-limit", "hour=1000000", "--token-limit", "hour=1000000"]);
});
after(() => service.stop());

/** Each byte of this text of 6 MiB is six in JSON, and an answer of events has it twice. */
const CONTROL = `
  const piece = new Uint8Array(65_536).fill(1);
  let left = 97;
  const pull = (to) => (left-- > 0 ? to.enqueue(piece) : to.close());
  return new Response(new ReadableStream({ pull }), { headers: { "content-type": "application/json" } })`;
const MAX_RESULT = 6_290_000;

async function peakBytes(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, "latin1");
  return 1_024 * Number(/VmHWM:\s+(\d+)/.exec(status)![1]);
}

async function isRunning(): Promise<boolean> {
  const { runs } = (await service.request("GET", "/api/runs?status=running")).json() as { runs: unknown[] };
  return runs.length > 0;
}

describe("records with the largest results, for clients that read nothing", () => {
  it("take the memory of the results, and not that of their texts", async () => {
    const token = await service.issue({ containers: ["m-*"], can: ["run"] });
    const beforeBytes = await peakBytes();
    const answers: IncomingMessage[] = await Promise.all(
      Array.from({ length: CLIENTS }, (_, at) =>
        respond(service.port, "POST", `/api/runs/m-${at % 3}?maxResult=${MAX_RESULT}B`, {
          token,
          headers: { accept: "text/event-stream" },
          body: CONTROL,
        }),
      ),
    );
    await until(async () => !(await isRunning()), "all runs have ended");
    const { text, complete } = await collect(answers[0]!);
    assert.equal(complete, true);
    assert.equal(text.match(/\\u0001/g)!.length, 2 * MAX_RESULT);
    const grown = (await peakBytes()) - beforeBytes;
    for (const each of answers) each.destroy();
    assert.ok(grown < 4 * CLIENTS * MAX_RESULT, `${Math.round(grown / 2 ** 20)} MiB more`);
  });

  it("can be read to their end after a pause, byte for byte", async () => {
    const code = `return "é\\u2028\\"\\u0001😀".repeat(300_000)`;
    for (const [accept, maxResult] of [
      ["application/json", "6MiB"],
      ["text/event-stream", "6MiB"],
      ["application/json", "3000001B"],
    ] as const) {
      const response = await respond(service.port, "POST", `/api/runs/whole?maxResult=${maxResult}`, {
        token: service.admin,
        headers: { accept },
        body: code,
      });
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).pause();
      // The events of another run arrive while this answer waits.
      await service.run("whole", "1");
      response.resume();
      await once(response, "end");
      const text = Buffer.concat(chunks).toString();
      const record = JSON.parse(accept === "application/json" ? text : /^data: ([^\n]*)$/m.exec(text)![1]!) as {
        result: string;
        resultTruncated?: boolean;
      };
      const whole = 'é\u2028"\u0001😀'.repeat(300_000);
      if (record.resultTruncated) {
        const json = JSON.stringify(whole);
        assert.equal(record.result, Buffer.from(json).subarray(0, 3_000_001).toString());
      } else assert.equal(record.result, whole);
    }
  });
});
