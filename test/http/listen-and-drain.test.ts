import assert from "node:assert/strict";
import { createServer } from "node:http";
import { it } from "node:test";

import { listen } from "../../src/http/listen-and-drain.ts";

it("names the flag if the address is not of this machine", async () => {
  // RFC 5737: an address of no machine.
  const listening = listen(createServer(), { host: "192.0.2.1", port: 7_070 });
  await assert.rejects(
    listening,
    /port 7070 of 192\.0\.2\.1 cannot be used \(EADDRNOTAVAIL\); set --host to an address/,
  );
});
