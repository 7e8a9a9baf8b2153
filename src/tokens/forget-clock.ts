import { randomUUID } from "node:crypto";
import type { StatementSync } from "node:sqlite";

import { type Clock, systemClock } from "../limits/steady-clock.ts";

/** How far the clock may advance beyond the uptime at one reading to follow the wall clock, in milliseconds. */
const CATCH_UP_MS = 600_000;
/** The age at which the stored time is written again, in milliseconds. A reboot loses at most this much time. */
const STORE_EVERY_MS = 600_000;

/** The id of this process if the system does not report its uptime: the process then counts its own. */
const PROCESS = randomUUID();

/** The table of the clock. A database with a clock has this table and the statements below. */
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
 * The clock by which ended records are deleted.
 *
 * It never advances faster than the system has run, apart from a slow catch-up. So a wall clock that is set days ahead does not
 * delete records that are still needed when the wall clock is corrected. Without this, one start with a wrong clock would make
 * revoked tokens valid again. This clock is never ahead of the wall clock. It catches up slowly after a shutdown, because late
 * deletion does no harm.
 */
export class ForgetClock {
  readonly #statements: Statements;
  readonly #clock: Pick<Clock, "sinceBoot">;

  /** @param statements the prepared `FORGET_CLOCK_STATEMENTS` of the database that stores the time between starts */
  constructor(statements: Statements, clock: Pick<Clock, "sinceBoot"> = systemClock) {
    this.#statements = statements;
    this.#clock = clock;
  }

  /**
   * @param wallMs the wall clock, in Unix milliseconds
   * @returns Unix milliseconds: records that ended before may be deleted.
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
    if (!isSameBoot || ranMs >= STORE_EVERY_MS || nowMs < time) this.#statements.writeTime.run(nowMs, boot, ms);
    return nowMs;
  }
}
