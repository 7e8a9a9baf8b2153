import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { it } from "node:test";

import { inputOfTool } from "../../../src/http/run/input-of-tool.ts";
import type { RunCall } from "../../../src/http/run/run-call.ts";
import type { RunDependencies } from "../../../src/http/run/run-dependencies.ts";
import type { ToolRun } from "../../../src/http/tool-run.ts";

const WITH = { config: { inputLimit: 1_024 } } as RunDependencies;

function toolRun(data: string | null): ToolRun {
  const { signal } = new AbortController();
  return { container: "acme", what: { task: "shared" }, data, timeout: undefined, signal, onBegun: () => {} };
}

it("the input of a task is a body, which its guest counts, and no part of the context", async () => {
  const call = { pin: null, task: null, memory: { name: "family" } } as unknown as RunCall;
  const { data, body } = await inputOfTool(call, toolRun('{"list":[{},{}]}'), WITH);
  assert.equal(data, null);
  assert.equal((await buffer(body!.source)).toString(), '{"list":[{},{}]}');
  assert.ok(body!.mostHeld >= 16);
  const none = await inputOfTool(call, toolRun(null), WITH);
  assert.deepEqual([none.data, none.body], [null, null]);
});
