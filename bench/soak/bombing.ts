import { type Bomb, BOMBS } from "./bombs.ts";
import { type SoakContext, waitForRetry } from "./soak-context.ts";
import { codeOf, isTurnedAway } from "./tally.ts";

/** Each bomb goes to another container, because a container must wait if its guests die at once repeatedly. */
const BOMB_CONTAINERS = 12;
/** The codes that end the guest of the container. */
const DEADLY: ReadonlySet<string> = new Set(["task_blocked", "task_memory", "task_exited"]);

/** Attacks the limits of a container. Each attack is timed against its deadline. */
export async function bombs(context: SoakContext, signal: AbortSignal, slot: number): Promise<void> {
  const { service, timed, tally, blockMs, wallMs } = context;
  const token = await service.issue({ containers: ["bomb-*"] });
  const deadlines: Record<Bomb["ends"], number | null> = { block: blockMs, wall: wallMs, itself: null };
  // Each slot starts at another bomb, so that different bombs run at the same time.
  for (let n = slot * 7; !signal.aborted; n++) {
    const bomb = BOMBS[n % BOMBS.length]!;
    const container = `bomb-${slot}-${n % BOMB_CONTAINERS}`;
    const { answer, tookMs } = await timed.run(container, bomb.code, token);
    const code = codeOf(answer);
    tally.judgeAttack(bomb.kind, `the bomb ${bomb.kind}: ${bomb.code}`, answer, bomb.answers.includes(code));
    if (isTurnedAway(answer)) {
      await waitForRetry(answer, signal);
      continue;
    }
    const figures = tally.of(bomb.kind);
    tally.bad.add("bombs");
    figures.outcomes.add(code);
    figures.took.add(tookMs);
    const deadlineMs = deadlines[bomb.ends];
    if (deadlineMs !== null) figures.late.add(tookMs - deadlineMs);
    await timeNext(context, token, container, bomb, code);
  }
}

/** Times the run after an attack in the same container. It must succeed soon, also if the guest has ended. */
async function timeNext(
  { timed, tally }: SoakContext,
  token: string,
  container: string,
  bomb: Bomb,
  code: string,
): Promise<void> {
  const { answer, tookMs } = await timed.run(container, "6 * 7", token);
  if (DEADLY.has(code) && !isTurnedAway(answer)) tally.next.add(tookMs);
  // Work that an answered bomb left running may end the guest together with the next run. The threads of a worker bomb
  // continue also if the task threw because no more threads could be started.
  const leavesWork = code === "200" || (bomb.kind === "workers" && !DEADLY.has(code));
  const isCaught = leavesWork && DEADLY.has(codeOf(answer));
  tally.judge(`the run after a bomb, ${code}`, answer, answer.text === "42" || isCaught);
}
