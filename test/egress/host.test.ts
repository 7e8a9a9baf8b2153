import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { destinationText, readDestination } from "../../src/egress/host.ts";

describe("a destination", () => {
  it("is a host, or a host and a port, in a canonical spelling", () => {
    const spellings: [string, string][] = [
      ["api.example.com", "api.example.com"],
      ["API.Example.com.", "api.example.com"],
      ["API.example.com:8443", "api.example.com:8443"],
      ["api.example.com:08443", "api.example.com:8443"],
      ["10.0.0.1", "10.0.0.1"],
      ["0x7f.1:80", "127.0.0.1:80"],
      ["2130706433", "127.0.0.1"],
      ["::1", "::1"],
      ["[::1]", "::1"],
      ["0:0::1", "::1"],
      ["[0::1]:443", "[::1]:443"],
      ["2606:4700::1111", "2606:4700::1111"],
      ["bücher.example", "xn--bcher-kva.example"],
    ];
    for (const [spelling, canonical] of spellings) {
      const destination = readDestination(spelling);
      assert.ok(destination, spelling);
      assert.equal(destinationText(destination), canonical);
      assert.deepEqual(
        readDestination(canonical),
        destination,
        "the canonical spelling parses to the same destination",
      );
    }
  });

  it("is null for any other text", () => {
    const others = [
      ...["", " ", ".", ":80", "a:", "a:0", "a:65536", "a:-1", "a:80x", "a:8 0", "a:80:80", "*", "*.example.com"],
      ...["a b", "a/b", "https://a", "user@a", "a?b", "a#b", "a\nb", "a\n:80", "fe80::1%eth0", "[fe80::1%25eth0]"],
      ...["[::1", "::1]", "[::1]x", "[a]", "256.1.1.1", "a:999999"],
    ];
    for (const text of others) assert.equal(readDestination(text), null, JSON.stringify(text));
  });
});

it("a host that is longer than a DNS name is rejected in any spelling", () => {
  const label = "a".repeat(49);
  assert.equal(readDestination([label, label, label, label, label].join("."))?.host.length, 249);
  assert.equal(readDestination("%61".repeat(60))?.host, "a".repeat(60));
  for (const long of ["a".repeat(760), "\u4e00".repeat(254), "%61".repeat(254)])
    assert.equal(readDestination(long), null);
});
