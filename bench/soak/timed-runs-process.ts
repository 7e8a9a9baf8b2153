import { request } from "../../test/contract/http.ts";
import type { TimedRequest, TimedReply } from "./timed-runs.ts";

const port = Number(process.argv[2]);
const reply = (message: TimedReply): void => void process.send?.(message);

process.on("disconnect", () => process.exit());
process.on("message", async ({ id, container, code, token }: TimedRequest) => {
  const startMs = performance.now();
  try {
    const answer = await request(port, "POST", `/api/run/${container}`, { token, body: code });
    const tookMs = performance.now() - startMs;
    const { status, headers, rawHeaders, bytes, text, complete } = answer;
    reply({ id, tookMs, answer: { status, headers, rawHeaders, bytes, text, complete } });
  } catch (error) {
    reply({ id, error: String(error) });
  }
});
