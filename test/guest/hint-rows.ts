import assert from "node:assert/strict";
import { it } from "node:test";

import type { GuestProcess } from "./guest-process.ts";

/** Code with a mistake, its whole hint, and the code that follows the hint. */
export type HintRow = readonly [code: string, hint: string, advised?: string];

/** Defines a test for each row. @param mustWork checks the code that follows the hint */
export function haveHints(
  guest: () => GuestProcess,
  rows: readonly HintRow[],
  mustWork: (advised: string) => Promise<void>,
): void {
  for (const [code, hint, advised] of rows) {
    it(code, async () => {
      assert.equal(await guest().hint(code), hint);
      if (advised !== undefined) await mustWork(advised);
    });
  }
}
