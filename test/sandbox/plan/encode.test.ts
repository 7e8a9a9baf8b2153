import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { encodePlan, failedStep, PLAN_ADDRESS, PLAN_BYTES, PROGRAM_ADDRESS } from "../../../src/sandbox/plan/encode.ts";
import { type Memory, numbers, type Step, text } from "../../../src/sandbox/plan/steps.ts";

/** Returns the eight 64-bit words of each step, as the stub reads them. */
function stepsOf(plan: Buffer, count: number, address: bigint = plan.readBigUInt64LE(0)): bigint[][] {
  const start = Number(address - PLAN_ADDRESS);
  return Array.from({ length: count }, (_, index) => {
    return Array.from({ length: 8 }, (_word, at) => plan.readBigUInt64LE(start + index * 64 + at * 8));
  });
}

function bytesAt(plan: Buffer, address: bigint, length: number): Buffer {
  const at = Number(address - PLAN_ADDRESS);
  return plan.subarray(at, at + length);
}

function step(args: Step["args"], others: Partial<Step> = {}): Step {
  return { name: "a step", number: 7, args, ...others };
}

describe("an encoded plan", () => {
  it("has the size that the stub reads, and its steps at an address that is aligned for a stack", () => {
    const plan = encodePlan({ steps: [step([])] });
    assert.equal(plan.length, PLAN_BYTES);
    assert.equal(plan.readBigUInt64LE(0) % 64n, 0n);
  });

  it("has numbers unchanged, including negative numbers, and 0 for omitted arguments", () => {
    const [words] = stepsOf(encodePlan({ steps: [step([1, -100, 2n ** 40n])] }), 1);
    assert.deepEqual(words!.slice(0, 7), [7n, 1n, 2n ** 64n - 100n, 2n ** 40n, 0n, 0n, 0n]);
  });

  it("has each memory once, and its address in each argument that uses it", () => {
    const memory = text("/some/where");
    const plan = encodePlan({ steps: [step([memory]), step([0, memory])] });
    const [first, second] = stepsOf(plan, 2);
    assert.equal(first![1], second![2]);
    assert.equal(bytesAt(plan, first![1]!, 12).toString(), "/some/where\0");
  });

  it("writes the addresses of other memory into memory", () => {
    const inner = numbers(4_711);
    const outer: Memory = { bytes: Buffer.alloc(16), pointers: [{ at: 8, to: inner }] };
    const plan = encodePlan({ steps: [step([outer])] });
    const address = bytesAt(plan, stepsOf(plan, 1)[0]![1]!, 16).readBigUInt64LE(8);
    assert.equal(bytesAt(plan, address, 8).readBigUInt64LE(0), 4_711n);
  });

  it("has the program's path at the address that the filter expects, even if other memory is used first", () => {
    const program = text("/bin/node");
    const plan = encodePlan({ steps: [step([text("before")]), step([program])], program });
    assert.equal(stepsOf(plan, 2)[1]![1], PROGRAM_ADDRESS);
    assert.equal(bytesAt(plan, PROGRAM_ADDRESS, 10).toString(), "/bin/node\0");
  });

  it("has the address at which the stub writes the arguments of the program", () => {
    const plan = encodePlan({ steps: [step([]), step([0, "arguments", "environment"])] });
    assert.equal(plan.readBigUInt64LE(8), plan.readBigUInt64LE(0) + 64n + 16n);
  });

  it("has unused memory for the arguments if no step uses them", () => {
    const plan = encodePlan({ steps: [step([])] });
    assert.deepEqual([...bytesAt(plan, plan.readBigUInt64LE(8), 16)], Array(16).fill(0));
    assert.notEqual(plan.readBigUInt64LE(8), plan.readBigUInt64LE(0));
  });

  it("has an address for the result of each step, which is odd if the step may fail", () => {
    const memory: Memory = { bytes: Buffer.alloc(16) };
    const plan = encodePlan({
      steps: [
        step([memory], { result: { memory, at: 4 } }),
        step([], { result: { memory, at: 9 }, mayFail: true }),
        step([]),
        step([], { mayFail: true }),
      ],
    });
    const steps = stepsOf(plan, 4);
    const base = steps[0]![1]!;
    assert.deepEqual([steps[0]![7], steps[1]![7]], [base + 4n, base + 9n]);
    assert.deepEqual([steps[2]![7]! % 2n, steps[3]![7]! % 2n], [0n, 1n]);
    assert.throws(() => encodePlan({ steps: [step([], { result: { memory, at: 4 }, mayFail: true })] }), TypeError);
    assert.throws(() => encodePlan({ steps: [step([], { result: { memory, at: 9 } })] }), TypeError);
  });

  it("has the steps of a new thread at an address that is aligned for a stack", () => {
    const threadSteps = [step([42])];
    const plan = encodePlan({ steps: [step([0, threadSteps]), step([0, threadSteps])] });
    const [first, second] = stepsOf(plan, 2);
    assert.equal(first![2], second![2]);
    assert.equal(first![2]! % 64n, 0n);
    assert.equal(stepsOf(plan, 1, first![2])[0]![1], 42n);
  });

  it("is rejected if it is too large, or has more steps than an exit status can name", () => {
    assert.throws(
      () => encodePlan({ steps: [step([{ bytes: Buffer.alloc(PLAN_BYTES) }])] }),
      new RegExp(`${PLAN_BYTES} bytes`),
    );
    assert.throws(() => encodePlan({ steps: Array(64).fill(step([])) }), /64 steps/);
    assert.throws(() => encodePlan({ steps: [step([1, 2, 3, 4, 5, 6, 7])] }), /7 arguments/);
    encodePlan({ steps: [...Array(63).fill(step([])), ...Array(50).fill(step([], { mayFail: true }))] });
  });
});

describe("failedStep", () => {
  const plan = { steps: [step([], { name: "the first" }), step([], { name: "the second" })] };

  it("returns the name of the step of an exit status", () => {
    assert.deepEqual(
      [192, 193, 194].map((status) => failedStep(plan, status)),
      ["no plan came", "the first", "the second"],
    );
  });

  it("returns null for an exit status that belongs to no step", () => {
    assert.deepEqual(
      [0, 1, 191, 195, 255, null].map((status) => failedStep(plan, status)),
      Array(6).fill(null),
    );
  });
});
