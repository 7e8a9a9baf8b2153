import assert from "node:assert/strict";

import type { Service } from "../contract/service.ts";
import { until } from "../contract/until.ts";
import type { Attack, Step } from "./attack.ts";
import type { Canaries } from "./canaries.ts";
import { assertAnswer, outcomeOf } from "./expectation.ts";
import type { Row } from "./table.ts";

/** A container that no attack uses. */
export const NEIGHBOUR = "neighbour";

/** The container of the attacks that change nothing in their guest. They run one after the other, because two could disturb each other. */
export const SHARED = "shared";

/** Longer than the deadline of any attacked run, so that the answer shows what ended the run. */
const TIMEOUT_MS = 90_000;

/** A started service that is attacked, on this host or in a container. */
export type Attacked = Pick<Service, "port" | "run" | "stderr">;

/**
 * Runs all steps of an attack next to a neighbour, judges each answer, and asserts that both containers still answer.
 *
 * @param container the attacked container. By default, each attack has its own.
 */
export async function assault(
  service: Attacked,
  canaries: Canaries,
  attack: Attack,
  row: Row,
  container: string = `${attack.kind}.${attack.name}`,
): Promise<void> {
  for (const [index, step] of attack.steps.entries()) {
    const place = step.place === "another container" ? `${container}.beside${index}` : container;
    await submit(service, canaries, place, step, row);
  }
  await answersAgain(service, container, attack.strikesLater);
}

async function submit(service: Attacked, canaries: Canaries, container: string, step: Step, row: Row): Promise<void> {
  const headers = step.contentType ? { "content-type": step.contentType } : {};
  const startMs = performance.now();
  const [answer, beside] = await Promise.all([
    service.run(container, canaries.fill(step.text, service.port), { headers, timeoutMs: TIMEOUT_MS }),
    service.run(NEIGHBOUR, "6 * 7"),
  ]);
  row.ms = Math.max(row.ms, performance.now() - startMs);
  row.outcome = outcomeOf(answer);
  row.expected = step.expected.map((each) => each.text).join(" or ");
  assert.equal(beside.text, "42", "a neighbour answers meanwhile");
  assert.ok(!`${answer.rawHeaders.join()}${answer.text}`.includes(canaries.secret), "the answer contains the secret");
  assertAnswer(answer, step.expected);
}

async function answersAgain(service: Attacked, container: string, strikesLater: boolean): Promise<void> {
  let text = "";
  const again = async (): Promise<boolean> => {
    ({ text } = await service.run(container, "6 * 7"));
    return text === "42";
  };
  if (strikesLater) await until(again, "the attacked container answers");
  else assert.ok(await again(), `the attacked container answers the next run with ${text}: ${logOf(service, text)}`);
  assert.equal((await service.run(NEIGHBOUR, "6 * 7")).text, "42", "a neighbour answers afterwards");
}

/** Returns the log lines of the service about the run that a problem document names. */
function logOf(service: Attacked, text: string): string {
  const run = /"run":"([^"]+)"/.exec(text)?.[1] ?? "no run";
  const lines = service.stderr().split("\n");
  return lines.filter((line) => line.includes(run)).join("\n");
}
