/** A process of Node for each run, as most judges of programs start it. The process has no sandbox here. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { asCall, serve } from "./front.ts";

const runFile = promisify(execFile);

serve(async (code) => {
  const program = `process.stdout.write(JSON.stringify(${asCall(code)}))`;
  return (await runFile(process.execPath, ["-e", program], { env: {} })).stdout;
});
