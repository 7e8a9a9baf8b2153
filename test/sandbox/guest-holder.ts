/** Starts a guest, says its process id, and waits to be killed. */
import { Guest } from "../../src/containers/guest.ts";
import { openWall } from "../../src/sandbox/open-wall.ts";
import type { Rung } from "../../src/sandbox/sandbox.ts";
import { sandboxBehind } from "../../src/sandbox/wall.ts";
import { LIMITS } from "../containers/puppet.ts";
import { SANDBOX_OPTIONS } from "../suites/sandbox.ts";

const sandbox = sandboxBehind(await openWall({ ...SANDBOX_OPTIONS, isolation: process.argv[2] as Rung }));
const guest = await new Guest(await sandbox.launch(), LIMITS).ready();
process.send!((await guest.process.inspect())!.pid);
