import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Answer } from "./http.ts";
import { assertProblem } from "./problem.ts";
import { containerRecord, limitRecord } from "./record.ts";
import { type Service, shareService } from "./service.ts";
import { pause, until } from "./until.ts";

const LONGEST_MS = 5_000;

let service: Service;

before(async () => {
  service = await shareService();
});
after(() => service.stop());

/** Runs code that kills its guest until the container is busy. */
async function untilBusy(container: string, code: string, token?: string): Promise<Answer> {
  let answer: Answer | null = null;
  await until(async () => {
    answer = await service.run(container, code, token ? { token } : {});
    if (answer.status !== 429) assert.equal(answer.status, 500, answer.text);
    return answer.status === 429;
  }, "the container is busy");
  return answer!;
}

describe("a container whose guests die at once, again and again", () => {
  for (const code of ["process.exit(1)", "process.kill(process.pid, 'SIGKILL')", "process.reallyExit(0)"]) {
    it(`waits for its next guest, at most five seconds: ${code}`, async () => {
      const container = `dies-${code.length}`;
      const busy = await untilBusy(container, code);
      const { detail, retryAfterMs } = assertProblem(busy, 429, "container_busy");
      assert.match(detail, /again and again/);
      assert.ok(retryAfterMs! > 0 && retryAfterMs! <= LONGEST_MS, `${retryAfterMs}`);
      assert.equal((await service.run(`beside-${container}`, "6 * 7")).text, "42");
      await pause(retryAfterMs!);
      assert.equal((await service.run(container, "6 * 7")).text, "42");
      assert.equal((await service.run(container, "6 * 7")).text, "42");
    });
  }

  it("takes no spare from other containers: a rejected run takes no guest and is not counted", async () => {
    const token = await service.issue({ containers: ["*"], limits: { container: { day: 1_000 } } });
    await untilBusy("drains", "process.exit(1)", token);
    const earlier = await containerRecord(service, "drains", token);
    const refused = await Promise.all(
      Array.from({ length: 20 }, () => service.run("drains", "process.exit(1)", { token })),
    );
    const counted = refused.filter(({ status }) => status !== 429).length;
    const expected = limitRecord({ day: earlier.day - counted });
    assert.deepEqual(await containerRecord(service, "drains", token), expected);
    assert.equal((await service.run("another", "6 * 7", { token })).text, "42");
  });

  it("has a guest for the next run if only one or two guests have died", async () => {
    for (let death = 0; death < 2; death++) {
      assertProblem(await service.run("unlucky", "process.exit(1)"), 500, "task_exited");
    }
    assert.equal((await service.run("unlucky", "6 * 7")).text, "42");
  });
});
