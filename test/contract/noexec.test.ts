import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { makeHome } from "./service.ts";

const ROOT = path.join(import.meta.dirname, "../..");
/** The mounts are in a separate namespace and end with it. */
const UNSHARE = [...(process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"]), "--mount"];
const cannotMount =
  spawnSync("unshare", [...UNSHARE, "true"]).status !== 0 && "this machine permits no mount namespace";

describe("a start whose folder for temporary files does not permit execution", { skip: cannotMount }, () => {
  for (const isolation of ["auto", "namespaces", "confined"]) {
    it(`is rejected with the fix, with --isolation ${isolation}`, async () => {
      await using home = await makeHome();
      const script = 'mount -t tmpfs -o noexec,mode=1777 none "$TMPDIR" && exec scripts/node dist/main.js serve "$@"';
      const args = [...UNSHARE, "sh", "-c", script, "sh", "--port", "0", "--data", home.data, "--isolation", isolation];
      const child = spawn("unshare", args, {
        cwd: ROOT,
        // Node may write a warning about other certificates if it ends early.
        env: { ...process.env, TMPDIR: home.tmp, NODE_EXTRA_CA_CERTS: undefined },
        stdio: ["ignore", "ignore", "pipe"],
      });
      const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "exit") as Promise<[number]>]);
      assert.equal(code, 1, stderr);
      assert.equal(
        stderr,
        `caisson: ${home.tmp} allows no execution (mount option noexec); set TMPDIR to another folder\n`,
      );
    });
  }
});
