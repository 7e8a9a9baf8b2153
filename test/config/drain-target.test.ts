import assert from "node:assert/strict";
import path from "node:path";
import { it } from "node:test";

import { describeTarget, drainTarget } from "../../src/config/drain-target.ts";

it("a target is stdout, a file or the URL of a collector", () => {
  assert.deepEqual(drainTarget("stdout"), { kind: "stdout" });
  assert.deepEqual(drainTarget("file:records.ndjson"), { kind: "file", path: path.resolve("records.ndjson") });
  for (const url of [
    "https://collector.example/in?key=a",
    "http://127.0.0.1:9/",
    "http://[::1]/",
    "http://localhost/",
  ]) {
    const target = drainTarget(url);
    assert.equal(target.kind === "url" && target.url.href, url);
  }
});

it("the fault of an invalid target does not contain it, because it may contain a credential", () => {
  const invalid = ["", "stderr", "file:", "secret", "https://", "https://user:secret@host/", "https://secret@host/"];
  for (const text of [...invalid, "http://collector.example/?key=secret", "ftp://host/secret", "https://secret:x"]) {
    assert.throws(
      () => drainTarget(text),
      (error: unknown) => error instanceof TypeError && !error.message.includes("secret"),
      text,
    );
  }
});

it("the description of a URL is its origin, without path and query", () => {
  assert.equal(
    describeTarget(drainTarget("https://collector.example:8443/in?key=secret")),
    "https://collector.example:8443",
  );
});
