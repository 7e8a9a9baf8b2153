import assert from "node:assert/strict";
import { test } from "node:test";

import type { Text } from "../../src/packages/model.ts";
import { TransformQueue } from "../../src/packages/transform-queue.ts";

/** A builder that answers no text before the test ends it. */
function slowBuilder(maxBytes?: number): { queue: TransformQueue; begun: string[]; end: () => void } {
  const begun: string[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<string[]>();
  const transform = ([first]: readonly Text[], holder: string): Promise<string[]> => {
    begun.push(`${holder} ${first!.text.slice(0, 5)}`);
    return ended;
  };
  return { queue: new TransformQueue({ transform }, 4, maxBytes), begun, end: () => end(["made"]) };
}

/** Asks for a text. @returns what it ends with */
async function ask(queue: TransformQueue, text: string, holder: string, signal = WAITS): Promise<string> {
  try {
    return ((await queue.transform([{ text, loader: "ts" }], holder, signal)) as string[]).join("");
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

const WAITS = new AbortController().signal;

test("a family has 16 texts that wait, and other families are served meanwhile", async () => {
  const { queue, begun, end } = slowBuilder();
  const asked = Array.from({ length: 20 }, (_, at) => ask(queue, String(at), "greedy"));
  assert.deepEqual(new Set(await Promise.all(asked.slice(16))), new Set(["packages_building"]));
  const other = ask(queue, "other", "quiet");
  assert.deepEqual(begun, ["greedy 0", "quiet other"]);
  end();
  assert.equal(await other, "made");
  assert.deepEqual(new Set(await Promise.all(asked.slice(0, 16))), new Set(["made"]));
});

test("a text that no run waits for leaves its line", async () => {
  const { queue, begun, end } = slowBuilder();
  const run = new AbortController();
  const asked = Array.from({ length: 16 }, (_, at) => ask(queue, String(at), "a", at < 15 ? run.signal : WAITS));
  run.abort(new Error("gone"));
  assert.deepEqual(new Set(await Promise.all(asked.slice(1, 15))), new Set(["Error: gone"]));
  const next = Array.from({ length: 14 }, () => ask(queue, "next", "a"));
  end();
  assert.deepEqual(new Set(await Promise.all([...next, asked[15]])), new Set(["made"]));
  assert.equal(begun.length, 16);
});

test("the family whose texts take the most memory loses its newest when there is no room for another family", async () => {
  const { queue, end } = slowBuilder(60_000);
  const text = "x".repeat(5_000);
  const greedy = Array.from({ length: 5 }, () => ask(queue, text, "greedy"));
  const others = ["a", "b"].map((holder) => ask(queue, text, holder));
  assert.equal(await greedy[4], "packages_building");
  assert.equal(await greedy[3], "packages_building");
  assert.equal(await ask(queue, "x".repeat(30_000), "c"), "packages_building");
  end();
  assert.deepEqual(new Set(await Promise.all([...greedy.slice(0, 3), ...others])), new Set(["made"]));
});
