import assert from "node:assert/strict";
import { it } from "node:test";

import { cell, csvTable } from "../../../src/http/api/usage-csv.ts";
import type { UsageRow } from "../../../src/records/usage/usage.ts";

const ROW: UsageRow = {
  container: "acme",
  task: "hook",
  from: "2026-11-23T10:00:00.000Z",
  runs: { ok: 20, threw: 5 },
  refused: { container_limited: 3 },
  cpuMs: 1.5,
  runMs: 20,
  egressBytes: 7,
  durations: {},
};

it("a row has the sum of its runs, a column for each status, and one for each code that occurs", async () => {
  const { head, line } = await csvTable("task", [ROW, { ...ROW, refused: { auth: 1, constructor: 2 } }], "family");
  const names = head.trimEnd().split(",");
  const values = line(ROW).trimEnd().split(",");
  const record = Object.fromEntries(names.map((name, at) => [name, values[at]]));
  assert.equal(names.length, values.length);
  assert.ok(head.endsWith("\r\n") && line(ROW).endsWith("\r\n"));
  const { from, container, task, runs, runs_ok: ok, runs_threw: threw, runs_timeout: timeout } = record;
  assert.deepEqual([from, container, task, runs, ok, threw, timeout], [ROW.from, "acme", "hook", "25", "20", "5", "0"]);
  const { refused_auth: auth, refused_container_limited: limited, cpu_ms: cpu, egress_bytes: bytes } = record;
  assert.deepEqual([auth, limited, cpu, bytes, record["refused_constructor"]], ["0", "3", "1.5", "7", "0"]);
});

it("a text that a spreadsheet would evaluate begins with an apostrophe", () => {
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
    assert.ok(cell(text).replace('"', "").startsWith("'"));
  assert.equal(cell("=1,2"), '"\'=1,2"');
  assert.equal(cell(-1), "-1");
  assert.equal(cell("a-b"), "a-b");
});

it("a text with separators is quoted (RFC 4180)", () => {
  assert.equal(cell('a"b'), '"a""b"');
  assert.equal(cell("a,b"), '"a,b"');
  assert.equal(cell("a\r\nb"), '"a\r\nb"');
});
