import { request } from "../../test/contract/http.ts";
import type { Ask, Told } from "./timed-runs.ts";

const port = Number(process.argv[2]);
const tell = (told: Told): void => void process.send?.(told);

process.on("disconnect", () => process.exit());
process.on("message", async ({ id, container, code, token }: Ask) => {
  const startMs = performance.now();
  try {
    const answer = await request(port, "POST", `/api/run/${container}`, { token, body: code });
    const tookMs = performance.now() - startMs;
    const { status, headers, rawHeaders, bytes, text, complete } = answer;
    tell({ id, tookMs, answer: { status, headers, rawHeaders, bytes, text, complete } });
  } catch (error) {
    tell({ id, error: String(error) });
  }
});
