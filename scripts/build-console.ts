/** Builds the web console into `dist/console/`, if it has changed since the last build. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.dirname(import.meta.dirname);
const OUT = path.join(ROOT, "dist/console");
const SOURCES = [
  "console/src/**/*",
  "console/*.*",
  "client/src/**/*.ts",
  "package-lock.json",
  "scripts/build-console.ts",
];
/** Written last, so that an interrupted build is done again. */
const STAMP = path.join(OUT, "built");

if (!isCurrent()) make();

function isCurrent(): boolean {
  if (!existsSync(STAMP)) return false;
  const builtMs = statSync(STAMP).mtimeMs;
  return globSync(SOURCES, { cwd: ROOT }).every((file) => statSync(path.join(ROOT, file)).mtimeMs < builtMs);
}

function make(): void {
  const begunMs = Date.now();
  // A separate folder, because a service may read the build before at this moment.
  const unfinished = `${OUT}.${process.pid}`;
  const words = ["build", path.join(ROOT, "console"), "--outDir", unfinished, "--logLevel", "warn"];
  const { status } = spawnSync(process.execPath, [path.join(ROOT, "node_modules/vite/bin/vite.js"), ...words], {
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    process.exit(1);
  }
  addStart(unfinished);
  writeFileSync(path.join(unfinished, "built"), "");
  // A file that changes during a build is newer than the build.
  utimesSync(path.join(unfinished, "built"), begunMs / 1_000, begunMs / 1_000);
  rmSync(OUT, { recursive: true, force: true });
  renameSync(unfinished, OUT);
}

/**
 * Starts the page with a script that inserts the entry. The policy of the page trusts this script by its digest, and the
 * scripts that it inserts, with all modules of these (CSP level 3, `strict-dynamic`). It would not trust the modules that the
 * script imports, because the parser has inserted it.
 */
function addStart(folder: string): void {
  const page = path.join(folder, "index.html");
  const html = readFileSync(page, "utf8");
  const [tag, entry] = /<script type="module" crossorigin src="(\.\/console\/[^"]+)"><\/script>/.exec(html) ?? [];
  if (tag === undefined) throw new Error("the page of the console has no entry");
  const start = `const script = document.createElement("script");
const url = new URL("${entry}", document.baseURI).href;
script.type = "module";
script.src = self.trustedTypes?.createPolicy("caisson", { createScriptURL: () => url }).createScriptURL("") ?? url;
document.head.append(script);
`;
  const digest = createHash("sha256").update(start).digest();
  const name = `start-${digest.toString("hex").slice(0, 8)}.js`;
  writeFileSync(path.join(folder, "console", name), start);
  const integrity = `sha256-${digest.toString("base64")}`;
  const script = `<script defer crossorigin integrity="${integrity}" src="./console/${name}"></script>`;
  writeFileSync(page, html.replace(tag, script));
}
