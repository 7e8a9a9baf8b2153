import assert from "node:assert/strict";

import { openLauncher } from "../../src/sandbox/launcher/launcher.ts";
import { sandboxOf } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import { isPrivileged } from "../../src/sandbox/privilege.ts";
import { drawn } from "../seeded.ts";
import { sandboxSuite } from "../suites/sandbox.ts";
import { confinements, openConfinedBy } from "./confined-by.ts";

sandboxSuite("namespaces", async (options) =>
  sandboxOf(await openLocalSandbox({ ...options, isolation: "namespaces" })),
);

for (const [name, mechanisms] of await confinements())
  sandboxSuite(name, (options) => openConfinedBy(mechanisms, options));

sandboxSuite("none", async (options) => sandboxOf(await openLocalSandbox({ ...options, isolation: "none" })));

// A launcher is used only by a service that is started as root.
if (isPrivileged()) {
  for (const isolation of drawn("levels behind a launcher", ["namespaces", "confined", "none"] as const, 1))
    sandboxSuite(`${isolation} behind a launcher`, (options) => openLauncher({ ...options, isolation }, onLost));
}

function onLost(error: Error): void {
  assert.fail(error);
}
