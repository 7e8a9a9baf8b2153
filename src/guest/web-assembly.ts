/** The functions of WebAssembly whose promises V8 settles. */
const NAMES = ["compile", "instantiate", "compileStreaming", "instantiateStreaming"] as const;

type Compile = (...args: unknown[]) => Promise<unknown>;

/**
 * Makes the promises of WebAssembly belong to the run that asks for them. V8 settles its own in no asynchronous context, which would hide the run of a
 * rejection that nothing awaits. Call it once, before any submitted code runs.
 */
export function bindWebAssembly(): void {
  const all = (globalThis as unknown as { WebAssembly: Record<string, Compile | undefined> }).WebAssembly;
  for (const name of NAMES) {
    const native = all[name];
    if (!native) continue;
    const bound = async (...args: unknown[]): Promise<unknown> => await native(...args);
    Object.defineProperty(bound, "name", { value: name, configurable: true });
    Object.defineProperty(bound, "length", { value: native.length, configurable: true });
    Object.defineProperty(all, name, { value: bound, writable: true, configurable: true });
  }
}
