import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";

import { openBuilder } from "../../src/builder/open-builder.ts";
import { Problem } from "../../src/errors.ts";
import type { Builder, Built } from "../../src/packages/model.ts";
import { openRealGuests, type RealGuests } from "../containers/real-guests.ts";
import { start } from "../containers/recorder.ts";
import { isLong } from "../long.ts";
import { drawn } from "../seeded.ts";
import { POPULAR } from "./popular.ts";
import { buildOf, orderOf } from "./real-builder.ts";
import { TestRegistry } from "./test-registry.ts";

/** A short run draws from the packages that npm has installed for this project, and needs no network. */
const INSTALLED = Object.keys(POPULAR).filter((name) => {
  return existsSync(path.join(import.meta.dirname, "../../node_modules", name, "package.json"));
});
const NAMES = isLong ? Object.keys(POPULAR) : drawn("popular packages", INSTALLED, 2);

let registry: TestRegistry | null = null;
let real: RealGuests;
let builder: Builder;

before(async () => {
  real = await openRealGuests({ isolation: "auto", memoryBytes: 256 * 2 ** 20 });
  if (!isLong) registry = (await TestRegistry.open()).publishInstalled(...NAMES);
  const url = registry?.url ?? new URL(execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim());
  builder = openBuilder({ sandbox: real.sandbox, registry: { url, token: null }, scopes: new Map(), egress: {} });
});
after(async () => {
  await builder.close();
  await real.close();
  registry?.close();
});

describe("a popular package works in a guest, by import and by require", () => {
  for (const name of NAMES) {
    it(name, async (t) => {
      const begunMs = performance.now();
      const built = await buildOf(builder, orderOf({ [name]: "*" }));
      const buildMs = Math.round(performance.now() - begunMs);
      const root = built.lock.roots[name]!;
      t.diagnostic(
        `| ${root} | ${built.lock.packages.length} | ${Math.ceil(built.artefact.length / 1024)} | ${buildMs} |`,
      );
      assert.equal(await answerOf(name, built), "result true");
    });
  }
});

async function answerOf(name: string, { artefact }: Built): Promise<string> {
  const guest = await real.make();
  const run = start(
    guest,
    `const pack = { exports: {} };
     (function (module, exports, require) {${artefact.toString()}
     })(pack, pack.exports, require);
     const entry = pack.exports[${JSON.stringify(name)}];
     const i = entry.import(), r = entry.require();
     return ${POPULAR[name]}`,
  );
  const outcome = await run.outcome();
  guest.end(new Problem("container_restarted", "the test is over"));
  const [problem] = run.problems;
  return problem ? `${problem.message} ${problem.options.error?.stack ?? ""}` : outcome;
}
