import type { Config } from "../config.ts";
import { probeGuests } from "../containers/guest/probe.ts";
import type { Finding } from "../finding.ts";
import { openSandbox } from "../sandbox/open-sandbox.ts";
import { sandboxOptions } from "../sandbox/sandbox-options.ts";
import type { IsolationLevel, Sandbox } from "../sandbox/sandbox.ts";
import { sandboxFindings } from "../sandbox/self-test/sandbox-findings.ts";
import { testWall } from "../sandbox/self-test/self-test.ts";
import { examineEsbuild } from "./esbuild.ts";

/** Opens the configured level and attacks it, as every start does. */
export async function examineSandbox(config: Config): Promise<{ level: IsolationLevel | null; findings: Finding[] }> {
  const options = sandboxOptions(config);
  let sandbox: Sandbox | null = null;
  try {
    sandbox = await openSandbox(options, () => {});
    const { level, held, layers } = sandbox.facts;
    const checks = await testWall(probeGuests(sandbox, options.resultBytes), { ...options, level, held, layers });
    return { level, findings: [...sandboxFindings(sandbox.facts, checks), await examineEsbuild(sandbox)] };
  } catch (error) {
    return { level: null, findings: [unopened(error as Error, config)] };
  } finally {
    await sandbox?.close();
  }
}

function unopened({ message }: Error, { isolation }: Config): Finding {
  const remedy = `without it, --isolation ${isolation} has no sandbox, and the service does not start`;
  return { layer: "sandbox", state: "open", proof: message, remedy };
}
