import assert from "node:assert/strict";
import { it } from "node:test";

import { clientSite } from "../src/client-site.ts";
import { clientNetwork } from "../src/http/address.ts";

it("the site of a client is its IPv4 address, or the /48 of its IPv6 address", () => {
  const sites: Readonly<Record<string, string>> = {
    "192.0.2.1": "192.0.2.1",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1::/48",
    "2001:db8:1:ffff::1": "2001:db8:1::/48",
    "2001:db8::1": "2001:db8:0::/48",
    "::1": "0:0:0::/48",
  };
  for (const [address, site] of Object.entries(sites)) assert.equal(clientSite(clientNetwork(address)), site, address);
  for (const family of ["6d1f0f3e-5a55-4c7a-9d0e-0c2f4c3f8f5b", "public"]) assert.equal(clientSite(family), family);
});
