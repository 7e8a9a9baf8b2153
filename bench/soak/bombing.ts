import { type Bomb, BOMBS } from "./bombs.ts";
import { type Ground, waitAsAsked } from "./ground.ts";
import { codeOf, isTurnedAway } from "./tally.ts";

/** Guests that die at once, again and again, have their container wait; so each bomb goes to another one. */
const BOMB_CONTAINERS = 12;
/** What costs the container its guest. */
const DEADLY: ReadonlySet<string> = new Set(["task_blocked", "task_memory", "task_exited"]);

/** Attacks on what a container may use, each timed against its deadline. */
export async function bombs(ground: Ground, signal: AbortSignal, slot: number): Promise<void> {
  const { service, timed, tally, blockMs, wallMs } = ground;
  const token = await service.issue({ containers: ["bomb-*"] });
  const deadlines: Record<Bomb["ends"], number | null> = { block: blockMs, wall: wallMs, itself: null };
  // Each slot begins elsewhere, so that different ones meet.
  for (let n = slot * 7; !signal.aborted; n++) {
    const bomb = BOMBS[n % BOMBS.length]!;
    const container = `bomb-${slot}-${n % BOMB_CONTAINERS}`;
    const { answer, tookMs } = await timed.run(container, bomb.code, token);
    const code = codeOf(answer);
    tally.judgeAttack(bomb.kind, `the bomb ${bomb.kind}: ${bomb.code}`, answer, bomb.answers.includes(code));
    if (isTurnedAway(answer)) {
      await waitAsAsked(answer, signal);
      continue;
    }
    const known = tally.of(bomb.kind);
    tally.bad.add("bombs");
    known.outcomes.add(code);
    known.took.add(tookMs);
    const deadlineMs = deadlines[bomb.ends];
    if (deadlineMs !== null) known.late.add(tookMs - deadlineMs);
    await timeNext(ground, token, container, bomb, code);
  }
}

/** The run after an attack in the same container has to be answered, and soon, also when its guest is gone. */
async function timeNext(
  { timed, tally }: Ground,
  token: string,
  container: string,
  bomb: Bomb,
  code: string,
): Promise<void> {
  const { answer, tookMs } = await timed.run(container, "6 * 7", token);
  if (DEADLY.has(code) && !isTurnedAway(answer)) tally.next.add(tookMs);
  // What a bomb that was answered left running may end the guest with the run that comes next: threads go on also where
  // the task threw, because no more of them could be started.
  const leavesWork = code === "200" || (bomb.kind === "workers" && !DEADLY.has(code));
  const isCaught = leavesWork && DEADLY.has(codeOf(answer));
  tally.judge(`the run after a bomb, ${code}`, answer, answer.text === "42" || isCaught);
}
