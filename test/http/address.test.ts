import assert from "node:assert/strict";
import { it } from "node:test";

import { canonicalAddress, clientNetwork } from "../../src/http/address.ts";

it("all spellings of an address have the same canonical spelling", () => {
  const spellings: Readonly<Record<string, readonly string[]>> = {
    "192.0.2.1": ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:192.0.2.1"],
    "2001:db8::1": ["2001:db8::1", "2001:DB8:0:0::1", "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::0.0.0.1"],
    "::1": ["::1", "0:0:0:0:0:0:0:1", "::0.0.0.1"],
    "::": ["::", "0::0"],
  };
  for (const [canonical, texts] of Object.entries(spellings)) {
    for (const text of texts) assert.equal(canonicalAddress(text), canonical, text);
  }
});

it("a text that is not an address, and an address with a zone, have no canonical spelling", () => {
  const malformed = [
    "",
    "localhost",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "01.2.3.4",
    "0x7f.1",
    "1.2.3.4 ",
    " 1.2.3.4",
    "1.2.3.4:80",
  ];
  for (const text of [
    ...malformed,
    "[::1]",
    "fe80::1%eth0",
    "::1%25",
    ":::",
    "1::2::3",
    "g::1",
    "::ffff:1.2.3",
    "unknown",
  ]) {
    assert.equal(canonicalAddress(text), null, text);
  }
});

it("the network of a client is its IPv4 address, or the /64 of its IPv6 address", () => {
  const networks: Readonly<Record<string, string>> = {
    "192.0.2.1": "192.0.2.1",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
    "2001:db8::1": "2001:db8:0:0::/64",
    "2001:db8:0:1::": "2001:db8:0:1::/64",
    "2001::1:2:3:4:5": "2001:0:0:1::/64",
    "2001:0:1:2:3:4:5:6": "2001:0:1:2::/64",
    "::1": "0:0:0:0::/64",
    "::": "0:0:0:0::/64",
    "::1:2:3:4:5": "0:0:0:1::/64",
    "64:ff9b::1": "64:ff9b:0:0::/64",
  };
  for (const [address, network] of Object.entries(networks)) {
    assert.equal(canonicalAddress(address), address);
    assert.equal(clientNetwork(address), network, address);
  }
});
