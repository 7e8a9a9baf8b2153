import { request } from "../../test/contract/http.ts";
import type { MeasuredService } from "../processes.ts";

export interface TimedRun {
  /** The time from the request to the end of its answer, with a new connection. */
  readonly ms: number;
  /** Whether the guest was `warm`, `new` from the pool, or `cold` (`Server-Timing`). */
  readonly start: string;
  readonly text: string;
}

/** Runs code once on a new connection. @throws {Error} unless it answers 200 */
export async function timeRun(
  { url, token }: Pick<MeasuredService, "url" | "token">,
  container: string,
  code: string = "6 * 7",
): Promise<TimedRun> {
  const startedMs = performance.now();
  const answer = await request(Number(new URL(url).port), "POST", `/api/run/${container}`, { token, body: code });
  const ms = performance.now() - startedMs;
  if (answer.status !== 200) throw new Error(`a run in ${container} received ${answer.status}: ${answer.text}`);
  return { ms, start: /desc="(\w+)"/.exec(answer.headers["server-timing"] ?? "")?.[1] ?? "", text: answer.text };
}

/** Issues a token with these claims. @returns its text */
export async function issueToken(
  { url, token }: Pick<MeasuredService, "url" | "token">,
  claims: object,
): Promise<string> {
  const answer = await request(Number(new URL(url).port), "POST", "/api/tokens", { token, json: claims });
  if (answer.status !== 201) throw new Error(`no token was issued: ${answer.text}`);
  return (answer.json() as { token: string }).token;
}
