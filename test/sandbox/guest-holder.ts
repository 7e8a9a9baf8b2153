/** Starts a guest, sends its process id to the parent, and waits to be killed. */
import { Guest } from "../../src/containers/guest/guest.ts";
import { sandboxOf } from "../../src/sandbox/local-sandbox.ts";
import { openLocalSandbox } from "../../src/sandbox/open-local-sandbox.ts";
import type { IsolationLevel } from "../../src/sandbox/sandbox.ts";
import { LIMITS } from "../containers/puppet.ts";
import { SANDBOX_OPTIONS } from "../suites/sandbox.ts";

const sandbox = sandboxOf(await openLocalSandbox({ ...SANDBOX_OPTIONS, isolation: process.argv[2] as IsolationLevel }));
const guest = await new Guest(await sandbox.launch(), LIMITS).ready();
process.send!((await guest.process.inspect())!.pid);
