import assert from "node:assert/strict";

import type { Answer } from "./http.ts";
import type { Service } from "./service.ts";

export type LimitRecord = Record<"second" | "minute" | "hour" | "day" | "week" | "month", number>;

export const WINDOWS: readonly string[] = ["second", "minute", "hour", "day", "week", "month"];

/** Reads the record of a container, as the administrator or with the given token. */
export async function containerRecord(service: Service, container: string, token?: string): Promise<LimitRecord> {
  return recordOf(await service.request("GET", `/api/limits/container/${container}`, token ? { token } : {}));
}

/** Reads the record of a token, with that token. */
export async function tokenRecord(service: Service, token: string): Promise<LimitRecord> {
  return recordOf(await service.request("GET", `/api/limits/token/${jtiOf(token)}`, { token }));
}

/** Asserts that an answer is a valid record. @returns the record */
export function recordOf(answer: Answer): LimitRecord {
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers["content-type"] ?? "", /^application\/json\b/);
  const left = answer.json() as LimitRecord;
  assert.deepEqual(Object.keys(left), WINDOWS);
  for (const runs of Object.values(left)) assert.ok(Number.isSafeInteger(runs) && runs >= -1, answer.text);
  return left;
}

/** Returns a record in which only the given windows are tracked. */
export function limitRecord(tracked: Partial<LimitRecord>): LimitRecord {
  return { second: 0, minute: 0, hour: 0, day: 0, week: 0, month: 0, ...tracked };
}

export function jtiOf(token: string): string {
  return (JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { jti: string }).jti;
}
