import assert from "node:assert/strict";
import { it } from "node:test";

import { NetworkCounts } from "../../src/http/network-counts.ts";

/** Returns a network of one site. */
function network(at: number): string {
  return `2001:db8:1:${at}::/64`;
}

it("a site has twice as much as one of its networks, and takes nothing from other sites", () => {
  const counts = new NetworkCounts(3);
  for (let at = 0; at < 3; at++) assert.equal(counts.add(network(1)), null);
  assert.deepEqual(counts.add(network(1)), { name: network(1), count: 3 });
  for (let at = 2; at < 5; at++) assert.equal(counts.add(network(at)), null);
  assert.deepEqual(counts.add(network(5)), { name: "2001:db8:1::/48", count: 6 });
  for (const other of ["2001:db8:2:1::/64", "192.0.2.1"]) assert.equal(counts.add(other), null);
  counts.remove(network(2));
  assert.equal(counts.add(network(5)), null);
  for (const name of [1, 1, 1, 3, 4, 5].map(network)) counts.remove(name);
  for (const other of ["2001:db8:2:1::/64", "192.0.2.1"]) counts.remove(other);
  assert.equal(counts.size, 0);
});
