import assert from "node:assert/strict";
import { it } from "node:test";

import { GET_RUNS } from "../../../src/http/mcp/get-runs.ts";
import type { McpCall } from "../../../src/http/mcp/mcp-call.ts";
import { entryOf } from "../../../src/records/record.ts";
import { runOf } from "../../records/run-of.ts";

it("get_runs lists the runs that fit into an answer, and counts the others", async () => {
  const { record } = runOf({ status: "threw" });
  // As long as a line of another node may be.
  const error = { ...record.error!, message: "x".repeat(600_000) };
  const runs = Array.from({ length: 50 }, (_, at) => {
    return { run: `00000000cafe-${at}`, startedMs: at, entry: () => entryOf({ ...record, error }) };
  });
  const received = {
    by: { claims: { admin: false, containers: ["acme"], can: ["logs"] }, family: "family" },
    records: { list: () => Promise.resolve({ runs, next: null, omitted: 0, history: "kept" }) },
    nodes: null,
  } as unknown as McpCall;
  const result = await GET_RUNS.call({ received, id: 1, container: "acme", given: { limit: 50 } });
  const { content, structuredTexts } = result as unknown as {
    readonly content: readonly { readonly text: string }[];
    readonly structuredTexts: readonly string[];
  };
  const { runs: listed } = JSON.parse(structuredTexts.join("")) as { readonly runs: readonly unknown[] };
  assert.equal(listed.length, 4);
  assert.match(content[0]!.text, /\n46 further runs are too long for this answer: set limit to 4\.$/);
});
