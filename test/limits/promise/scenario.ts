import * as fc from "fast-check";

import type { Limits } from "../../../src/limits/windows.ts";
import { WINDOWS } from "./naive.ts";

/** The next action of a caller, an administrator or the machine. */
export interface Step {
  /** The time before the action; negative if the clock is set back. */
  readonly passMs: number;
  readonly token: number;
  readonly container: number;
  readonly act: "run" | "reset container" | "reset token" | "restart";
  /** The number of runs in one millisecond. */
  readonly runs: number;
  /** The new limits of the token, set before the runs. */
  readonly change: { readonly container: Limits; readonly token: Limits } | undefined;
  /** Whether a refused run is repeated after its wait, and 1 ms earlier. */
  readonly waits: boolean;
}

export interface Scenario {
  /** The tokens. A child is below all tokens before it. */
  readonly tokens: readonly { readonly container: Limits; readonly token: Limits; readonly child: boolean }[];
  readonly defaults: { readonly container: Limits; readonly token: Limits };
  readonly steps: readonly Step[];
}

export const limits: fc.Arbitrary<Limits> = fc.dictionary(
  fc.constantFrom(...WINDOWS.map(([name]) => name)),
  fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.integer({ min: 5, max: 12 })),
  { maxKeys: 3 },
);

const defaults: fc.Arbitrary<Limits> = fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, limits);

const edges = WINDOWS.flatMap(([, lengthMs]) => [lengthMs - 1, lengthMs, lengthMs + 1, Math.floor(lengthMs / 3)]);

const passMs = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 0, 1) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 700 }) },
  { weight: 2, arbitrary: fc.constantFrom(...edges.slice(0, 12)) },
  { weight: 1, arbitrary: fc.constantFrom(...edges) },
  { weight: 1, arbitrary: fc.constantFrom(-1, -500, -90_000, -4_000_000) },
);

/** @param restarts whether the store is sometimes closed and opened again */
export function scenario(restarts: boolean): fc.Arbitrary<Scenario> {
  const acts: Step["act"][] = [
    "reset container",
    "reset token",
    ...(restarts ? (["restart", "restart"] as const) : []),
  ];
  const step: fc.Arbitrary<Step> = fc.record({
    passMs,
    token: fc.nat({ max: 2 }),
    container: fc.nat({ max: 1 }),
    act: fc.oneof({ weight: 15, arbitrary: fc.constant("run") }, fc.constantFrom(...acts)),
    runs: fc.constantFrom(1, 1, 1, 1, 2, 4),
    change: fc.option(fc.record({ container: limits, token: limits }), { freq: 12, nil: undefined }),
    waits: fc.boolean(),
  });
  const token = fc.record({ container: limits, token: limits, child: fc.boolean() });
  return fc.record({
    tokens: fc.tuple(token, token, token),
    defaults: fc.record({ container: defaults, token: defaults }),
    steps: fc.array(step, { minLength: 1, maxLength: restarts ? 20 : 8, size: "max" }),
  });
}
