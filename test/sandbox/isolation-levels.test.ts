import assert from "node:assert/strict";

import { openLauncher } from "../../src/sandbox/launcher/launcher.ts";
import { sandboxOf } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import { isPrivileged } from "../../src/sandbox/privilege.ts";
import { sandboxSuite } from "../suites/sandbox.ts";
import { confinements, openConfinedBy } from "./confined-by.ts";

sandboxSuite("namespaces", async (options) =>
  sandboxOf(await openLocalSandbox({ ...options, isolation: "namespaces" })),
);

for (const [name, means] of await confinements()) sandboxSuite(name, (options) => openConfinedBy(means, options));

sandboxSuite("none", async (options) => sandboxOf(await openLocalSandbox({ ...options, isolation: "none" })));

// Only root has something to give up.
if (isPrivileged()) {
  sandboxSuite("namespaces behind a launcher", (options) => openLauncher(options, lost));
  sandboxSuite("confined behind a launcher", (options) => openLauncher({ ...options, isolation: "confined" }, lost));
  sandboxSuite("none behind a launcher", (options) => openLauncher({ ...options, isolation: "none" }, lost));
}

function lost(error: Error): void {
  assert.fail(error);
}
