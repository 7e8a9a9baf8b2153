/** isolated-vm: a new isolate for each run, in the process of the server. */
import { asCall, serve } from "./front.ts";

/** The part of the package that this file uses. The package may not be installed, so its types cannot be imported. */
interface IsolatedVm {
  readonly Isolate: new (options: { memoryLimit: number }) => {
    createContext(): Promise<{ eval(code: string, options: { copy: true; timeout: number }): Promise<unknown> }>;
    dispose(): void;
  };
}

const MEMORY_MIB = 64;
const TIMEOUT_MS = 2_000;
const name: string = "isolated-vm";
const { default: ivm } = (await import(name)) as { default: IsolatedVm };

serve(async (code) => {
  const isolate = new ivm.Isolate({ memoryLimit: MEMORY_MIB });
  try {
    const context = await isolate.createContext();
    return JSON.stringify(await context.eval(asCall(code), { copy: true, timeout: TIMEOUT_MS }));
  } finally {
    isolate.dispose();
  }
});
