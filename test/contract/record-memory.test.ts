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

describe("the latest records in memory", () => {
  it("count every text of an error, also of a guest that writes its own frames", async () => {
    const own = await startService([...NO_WALL, "--recent-runs", "1MiB", "--keep-runs", "0s"]);
    try {
      // A guest gives names and hints of a few hundred characters. Code in it can write a frame `fault` itself.
      const code = `
        const { writeSync } = require("node:fs");
        const text = "\u0101".repeat(25_000);
        const error = { name: text, message: "forged" };
        const payload = JSON.stringify({ code: "task_threw", detail: "x", hint: text, error });
        const frame = Buffer.alloc(9 + Buffer.byteLength(payload));
        frame.writeUInt32LE(frame.length - 4, 0);
        frame[4] = 69;
        frame.writeUInt32LE(Number.parseInt(process.title.slice(1), 36), 5);
        frame.write(payload, 9);
        for (let at = 0; at < frame.length; ) {
          try { at += writeSync(3, frame, at) } catch (error) { if (error.code !== "EAGAIN") throw error }
        }
        return new Promise(() => {});`;
      for (let at = 0; at < 40; at++) {
        // Other code each time: with the same code, the title of the guest names an earlier run.
        const answer = await own.run("names", `${code} // ${at}`);
        assert.match(answer.text, /forged/);
      }
      const { runs } = (await own.request("GET", "/api/runs/names")).json() as { runs: unknown[] };
      // Each has 100 KB: two texts of 25 000 characters with two bytes.
      assert.ok(runs.length > 0 && runs.length <= 10, `${runs.length} runs are in 1 MiB`);
    } finally {
      await own.stop();
    }
  });
});
