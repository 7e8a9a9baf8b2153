/**
 * What the dynamic loader has loaded for this very Node, by the names that it looked for, itself among them: a sandbox
 * needs each file under this name. Empty for a Node that is linked statically.
 */
export function sharedLibraries(): string[] {
  // Nobody asks which connections are open, and names of hosts would be looked up for it.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  report.excludeNetwork = true;
  const { sharedObjects } = report.getReport() as unknown as { sharedObjects: readonly string[] };
  // The kernel's own, such as linux-vdso.so.1, is no file.
  return sharedObjects.filter((file) => file.startsWith("/") && file !== process.execPath);
}
