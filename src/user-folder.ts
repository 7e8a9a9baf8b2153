import path from "node:path";

/** The scripts of package.json that start the command line. */
const SCRIPTS: ReadonlySet<string> = new Set(["start", "caisson"]);

let checkout: string | null = null;

/**
 * Enters the folder in which the user typed the command. npm starts a script in the folder of the package, but relative paths
 * mean the folder of the user, which npm names in `INIT_CWD`.
 */
export function enterUserFolder(environment: Readonly<Record<string, string | undefined>>): void {
  const folder = environment["INIT_CWD"];
  const isScript =
    environment["npm_package_name"] === "caisson" && SCRIPTS.has(environment["npm_lifecycle_event"] ?? "");
  if (!isScript || folder === undefined || folder === process.cwd()) return;
  checkout = process.cwd();
  process.chdir(folder);
}

/** Returns the default of `--data`: a folder of the checkout, whatever the folder of the user is, or of the current folder. */
export function defaultData(): string {
  return checkout === null ? "./data" : path.join(checkout, "data");
}
