import { randomUUID } from "node:crypto";
import type { StatementSync } from "node:sqlite";

import { type Clock, systemClock } from "../limits/clock.ts";

/** How far the wall clock is followed at one look, beyond the time that the system has run since the look before. */
const CATCH_UP_MS = 600_000;
/** How old the time on record may be: short, so that a reboot costs no more than this. */
const KEPT_MS = 600_000;

/** Names this process where the system does not report its uptime: the process then counts its own. */
const PROCESS = randomUUID();

/** The table of the clock, and its statements: a database that has a clock has these. */
export const FORGET_CLOCK_SCHEMA: string = `
  CREATE TABLE IF NOT EXISTS forget_clock (
    id INTEGER PRIMARY KEY CHECK (id = 0), time INTEGER NOT NULL, boot TEXT NOT NULL, boot_ms INTEGER NOT NULL
  ) STRICT;
`;
export const FORGET_CLOCK_STATEMENTS = {
  readTime: "SELECT time, boot, boot_ms FROM forget_clock",
  writeTime: "INSERT OR REPLACE INTO forget_clock (id, time, boot, boot_ms) VALUES (0, ?, ?, ?)",
} as const;
type Statements = Readonly<Record<keyof typeof FORGET_CLOCK_STATEMENTS, StatementSync>>;

/**
 * The time by which ended records are deleted.
 *
 * It never passes faster than the system has run, so a wall clock that is set days ahead deletes nothing that is needed when
 * the wall clock is right again. Without this, one start with a wrong clock would make revoked tokens valid again. It is
 * never ahead of the wall clock. Time in which the machine was off is caught up slowly: deleting late does no harm.
 */
export class ForgetClock {
  readonly #statements: Statements;
  readonly #clock: Pick<Clock, "sinceBoot">;

  /** @param statements of the database that keeps the time between starts: `FORGET_CLOCK_STATEMENTS`, prepared. */
  constructor(statements: Statements, clock: Pick<Clock, "sinceBoot"> = systemClock) {
    this.#statements = statements;
    this.#clock = clock;
  }

  /**
   * @param wallMs the wall clock, in Unix milliseconds
   * @returns Unix milliseconds: what ended before may be deleted.
   */
  now(wallMs: number): number {
    const { boot, ms } = this.#clock.sinceBoot?.() ?? { boot: PROCESS, ms: Math.floor(performance.now()) };
    const row = this.#statements.readTime.get();
    if (!row) {
      this.#statements.writeTime.run(wallMs, boot, ms);
      return wallMs;
    }
    const [time, bootMs] = [Number(row["time"]), Number(row["boot_ms"])];
    const isSameBoot = row["boot"] === boot && ms >= bootMs;
    const ranMs = isSameBoot ? ms - bootMs : 0;
    const nowMs = Math.min(wallMs, time + ranMs + Math.min(ranMs, CATCH_UP_MS));
    if (!isSameBoot || ranMs >= KEPT_MS || nowMs < time) this.#statements.writeTime.run(nowMs, boot, ms);
    return nowMs;
  }
}
