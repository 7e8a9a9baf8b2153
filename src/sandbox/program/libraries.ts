/**
 * Returns the libraries that the dynamic loader has loaded for this Node process, including the loader, by the paths that
 * the loader used. A sandbox needs each file under this path. Empty for a statically linked Node.
 */
export function sharedLibraries(): string[] {
  // The report would list open connections, which is not needed and would resolve the names of hosts.
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  report.excludeNetwork = true;
  const { sharedObjects } = report.getReport() as unknown as { sharedObjects: readonly string[] };
  // The kernel's own library, such as linux-vdso.so.1, is not a file.
  return sharedObjects.filter((file) => file.startsWith("/") && file !== process.execPath);
}
