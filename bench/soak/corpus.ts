import { setTimeout } from "node:timers/promises";

import type { Answer } from "../../test/contract/http.ts";
import { type Attack, readAttacks, type Step } from "../../test/hostile/attack.ts";
import { assertAnswer } from "../../test/hostile/expectation.ts";
import { type SoakContext, waitForRetry } from "./soak-context.ts";
import { codeOf, isTurnedAway } from "./tally.ts";

/** The maximum time to retry the next run after an attack that strikes later. */
const AGAIN_MS = 30_000;
const AGAIN_STEP_MS = 20;

/** Runs the corpus of attacks. Each file has its expected answers. */
export async function corpus(context: SoakContext, signal: AbortSignal, slot: number, slots: number): Promise<void> {
  const token = await context.service.issue({ containers: ["*"] });
  const attacks = readAttacks("namespaces").filter((_, index) => index % slots === slot);
  for (let n = 0; !signal.aborted; n++) {
    const attack = attacks[n % attacks.length]!;
    for (const [index, step] of attack.steps.entries()) {
      if (!(await submit(context, signal, token, attack, step, index))) break;
    }
    await answersAgain(context, signal, token, attack);
  }
}

/** Submits a step of an attack. @returns whether the attack continues. */
async function submit(
  { service, canaries, tally }: SoakContext,
  signal: AbortSignal,
  token: string,
  attack: Attack,
  step: Step,
  index: number,
): Promise<boolean> {
  const container = `${attack.kind}.${attack.name}${step.place === "another container" ? `.beside${index}` : ""}`;
  const headers: Record<string, string> = step.contentType ? { "content-type": step.contentType } : {};
  const startMs = performance.now();
  const answer = await service.run(container, canaries.fill(step.text, service.port), { token, headers });
  if (isTurnedAway(answer)) {
    tally.turnedAway++;
    await waitForRetry(answer, signal);
    return false;
  }
  const figures = tally.of(attack.kind);
  figures.took.add(performance.now() - startMs);
  figures.outcomes.add(codeOf(answer));
  tally.bad.add("attacks of the corpus");
  if (`${answer.rawHeaders.join()}${answer.text}`.includes(canaries.secret)) {
    tally.escapes.add(`${container} received the secret`);
  }
  tally.judgeAttack(attack.kind, `the attack ${container}`, answer, fits(answer, step));
  return true;
}

function fits(answer: Answer, { expected }: Step): boolean {
  try {
    assertAnswer(answer, expected);
    return true;
  } catch {
    return false;
  }
}

async function answersAgain(
  { service, tally }: SoakContext,
  signal: AbortSignal,
  token: string,
  attack: Attack,
): Promise<void> {
  const giveUpMs = performance.now() + AGAIN_MS;
  for (;;) {
    const answer = await service.run(`${attack.kind}.${attack.name}`, "6 * 7", { token });
    const isRight = answer.text === "42";
    if (!isRight && attack.strikesLater && signal.aborted) return;
    const mayComeLater = attack.strikesLater && performance.now() < giveUpMs;
    if (isRight || !mayComeLater) return tally.judge(`the run after ${attack.kind}.${attack.name}`, answer, isRight);
    await setTimeout(AGAIN_STEP_MS);
  }
}
