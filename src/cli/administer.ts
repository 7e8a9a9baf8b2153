import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

import type { Config } from "../config.ts";
import { faultLines } from "./fail.ts";
import { requestService, tokenOf, unreached } from "./reach.ts";

const ANSWER_MS = 10_000;

/**
 * Sends a request to the service at the address of these settings, as an administrator.
 *
 * @returns the answer, parsed as JSON
 * @throws {Error} with the problem that the service reports, or with the reason why it was not reached.
 */
export async function administer(config: Config, method: string, target: string, body?: unknown): Promise<unknown> {
  const headers = { Authorization: `Bearer ${tokenOf(config)}` };
  const request = requestService(config, { method, path: target, headers, timeout: ANSWER_MS });
  request.on("timeout", () => request.destroy(new Error(`it did not answer within ${ANSWER_MS / 1_000} s`)));
  request.end(body === undefined ? undefined : JSON.stringify(body));
  let answer: string;
  let status: number;
  try {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    status = response.statusCode!;
    answer = await text(response);
  } catch (error) {
    throw unreached(config, error);
  }
  const value = parse(answer);
  if (status >= 200 && status < 300) return value;
  const { detail, hint, violations } = (value ?? {}) as { detail?: unknown; hint?: unknown; violations?: unknown };
  const messages = [detail, ...faultLines(violations), hint].filter((line) => typeof line === "string");
  throw new Error(messages.length > 0 ? messages.join("\n") : `the service answered with status ${status}`);
}

function parse(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return null;
  }
}
