import { getSystemErrorName } from "node:util";

import type { Architecture } from "../system-calls.ts";
import type { Check, Layer } from "./check.ts";
import { type HostileCall, hostileCalls } from "./native/calls.ts";
import { FIRST_ERROR, nativeProgram } from "./native/program.ts";
import type { ProbeGuest } from "./probe-guest.ts";

const LAYERS: readonly Layer[] = ["network", "processes", "system calls"];

/**
 * Has a guest put native code of ours in the place of Node, which makes the calls that Node has no words for. A task can
 * do the same: its temporary folder is its own. The guest does not survive.
 *
 * @param holdsResources whether a control group counts threads.
 */
export async function attackNatively(guest: ProbeGuest, threads: number, holdsResources: boolean): Promise<Check[]> {
  const calls = hostileCalls(process.arch as Architecture, threads);
  const program = nativeProgram(process.arch as Architecture, calls).toString("base64");
  // It never returns; what it says is the end of the guest.
  await guest.run(`return (${execute.toString()})(${JSON.stringify(program)})`).catch(() => {});
  guest.end();
  const { how } = await guest.process.exited;
  const notes = new RegExp(`: ([!-~]{${calls.length}})$`).exec(how)?.[1];
  if (notes === undefined) {
    return [{ layer: "system calls", tried: "native code", outcome: "weak", found: `was not started (${how})` }];
  }
  const answers = calls.map((call, index) => ({ call, answer: answerOf(notes.charCodeAt(index)) }));
  const grouped = LAYERS.map((layer) => judgeLayer(layer, answers));
  return [...grouped, judgeThreads(answers.at(-1)!, holdsResources)];
}

interface Answered {
  readonly call: HostileCall;
  /** The name of the error. */
  readonly answer: string;
}

function answerOf(note: number): string {
  return note <= FIRST_ERROR ? "got through" : getSystemErrorName(FIRST_ERROR - note);
}

function judgeLayer(layer: Layer, all: readonly Answered[]): Check {
  const answers = all.filter(({ call }) => call.layer === layer);
  const wrong = answers.filter(({ call, answer }) => answer !== call.stoppedBy);
  const tried = "by native code";
  if (wrong.length > 0) {
    const found = wrong.map(({ call, answer }) => `${call.what} ${answer}`).join(", ");
    return { layer, tried, outcome: "open", found };
  }
  return { layer, tried, outcome: "held", found: `refused ${answers.map(({ call }) => call.what).join(", ")}` };
}

function judgeThreads({ call, answer }: Answered, holdsResources: boolean): Check {
  const { layer, what: tried, stoppedBy } = call;
  const unheld = holdsResources ? "open" : "weak";
  return { layer, tried, outcome: answer === stoppedBy ? "held" : unheld, found: answer };
}

/** Sent to the guest as text. */
async function execute(program: string): Promise<void> {
  const fs = await import("node:fs");
  const path = await import("node:path");
  const file = path.resolve("native");
  fs.writeFileSync(file, Buffer.from(program, "base64"));
  fs.chmodSync(file, 0o755);
  process.execve!(file, [file], {});
}
