/** secure-exec: each run gets fresh memory in a V8 process of the library. */
import { AT_ONCE, asCall, serve } from "./front.ts";

/** The part of the package that this file uses. The package may not be installed, so its types cannot be imported. */
interface SecureExec {
  readonly NodeRuntime: new (options: object) => {
    run(code: string): Promise<{ code: number; exports?: unknown; errorMessage?: string }>;
  };
  readonly createNodeDriver: () => unknown;
  readonly createNodeRuntimeDriverFactory: () => unknown;
}

const MEMORY_MIB = 64;
const name: string = "secure-exec";
const { NodeRuntime, createNodeDriver, createNodeRuntimeDriverFactory } = (await import(name)) as SecureExec;

// A runtime takes one run at a time.
const runtimes = Array.from({ length: AT_ONCE }, () => {
  const runtimeDriverFactory = createNodeRuntimeDriverFactory();
  return new NodeRuntime({ systemDriver: createNodeDriver(), runtimeDriverFactory, memoryLimit: MEMORY_MIB });
});

serve(async (code, slot) => {
  const result = await runtimes[slot]!.run(`module.exports = ${asCall(code)};`);
  if (result.code !== 0) throw new Error(result.errorMessage ?? `the run ended with ${result.code}`);
  return JSON.stringify(result.exports);
});
