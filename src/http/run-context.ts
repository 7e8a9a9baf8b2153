import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

import type { RunContext } from "../wire/messages.ts";
import { publicTarget, type Target } from "./target.ts";

/** Never told to a task: credentials, and what only the way here knows. */
const HIDDEN = /^(?:authorization|cookie|forwarded|proxy-.*|x-forwarded-.*)$/;
const HOLDS_KEY = /[?&]key=/i;
const HOST = /^[A-Za-z0-9._-]+(?::\d+)?$|^\[[0-9a-fA-F:.]+\](?::\d+)?$/;

/** What the task is told of its request. */
export function runContext(
  request: IncomingMessage,
  target: Target,
  run: { id: string; container: string; data: unknown },
): RunContext {
  const scheme = "encrypted" in request.socket ? "https" : "http";
  const { host = "" } = request.headers;
  return {
    runId: run.id,
    container: run.container,
    method: request.method!,
    url: `${scheme}://${HOST.test(host) ? host : "localhost"}${publicTarget(target)}`,
    headers: publicHeaders(request.headers),
    ...(run.data !== undefined && { body: run.data }),
  };
}

function publicHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const shown: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HIDDEN.test(name)) continue;
    const text = String(value);
    if (name === "referer" && HOLDS_KEY.test(text)) continue;
    shown[name] = text;
  }
  return shown;
}
