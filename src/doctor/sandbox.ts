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
    const opened = await openSandbox(options, () => {});
    sandbox = opened;
    const { level, held, layers } = opened.facts;
    const promised = { ...options, level, held, layers };
    const probes = probeGuests(opened, options.resultBytes);
    const checks = await testWall(probes, (kind) => opened.launch(kind), promised);
    return { level, findings: [...sandboxFindings(opened.facts, checks), await examineEsbuild(opened)] };
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
