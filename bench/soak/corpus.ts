import { setTimeout } from "node:timers/promises";

import type { Answer } from "../../test/contract/http.ts";
import { type Attack, readAttacks, type Step } from "../../test/hostile/attack.ts";
import { assertAnswer } from "../../test/hostile/expectation.ts";
import { type Ground, waitAsAsked } from "./ground.ts";
import { codeOf, isTurnedAway } from "./tally.ts";

/** The next run is tried for so long after an attack that strikes later. */
const AGAIN_MS = 30_000;
const AGAIN_STEP_MS = 20;

/** The corpus of attacks, each judged by what it says itself. */
export async function corpus(ground: Ground, signal: AbortSignal, slot: number, slots: number): Promise<void> {
  const token = await ground.service.issue({ containers: ["*"] });
  const attacks = readAttacks("namespaces").filter((_, index) => index % slots === slot);
  for (let n = 0; !signal.aborted; n++) {
    const attack = attacks[n % attacks.length]!;
    for (const [index, step] of attack.steps.entries()) {
      if (!(await submit(ground, signal, token, attack, step, index))) break;
    }
    await answersAgain(ground, signal, token, attack);
  }
}

/** @returns whether the attack goes on. */
async function submit(
  { service, canaries, tally }: Ground,
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
    await waitAsAsked(answer, signal);
    return false;
  }
  const known = tally.of(attack.kind);
  known.took.add(performance.now() - startMs);
  known.outcomes.add(codeOf(answer));
  tally.bad.add("attacks of the corpus");
  if (`${answer.rawHeaders.join()}${answer.text}`.includes(canaries.secret)) {
    tally.escapes.add(`${container} was told the secret`);
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
  { service, tally }: Ground,
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
