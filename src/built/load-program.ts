import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire, enableCompileCache, getCompileCacheDir } from "node:module";
import path from "node:path";
import { constants, Script } from "node:vm";

/** A program of the build, and a function that keeps what V8 has compiled of it for the next start. */
export interface LoadedProgram<T> {
  readonly exports: T;
  readonly keep: () => void;
}

/** The first line of a program names its text, so that compiled code is only used with the text that it was compiled from. */
const NAME = /^\/\/ ([0-9a-f]{64})\n/;

/**
 * Loads a program of the build, which is one script, with the code that an earlier start has compiled. Node's own cache has only the
 * code that V8 compiles when it loads a module, before it calls anything. This one also has the functions that a start calls: they
 * are a third of the processor time of a start. To load one file and not 60 modules saves another tenth.
 *
 * The cache is next to the code and as trusted, and not in a temporary folder where any user could plant files.
 *
 * @param kind several caches of a program contain what different commands call
 */
export function loadProgram<T>(name: string, kind: string): LoadedProgram<T> {
  const folder = import.meta.dirname;
  enableCompileCache(path.join(folder, "../node_modules/.cache/caisson"));
  const filename = path.join(folder, `${name}.js`);
  // latin1 maps each byte to one character, and the build writes only ASCII. V8 reads one-byte strings with less work.
  const text = readFileSync(filename, "latin1");
  const cache = getCompileCacheDir();
  const digest = NAME.exec(text)?.[1];
  const file = cache === undefined || digest === undefined ? null : path.join(cache, kind, digest);
  const cachedData = file === null ? undefined : readIfThere(file);
  const script = new Script(text, {
    filename,
    ...(cachedData && { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  // V8 has read the cache. Until a collection, its megabytes would stay. A file that is cut off may be part of another buffer.
  if (cachedData?.length === cachedData?.buffer.byteLength) cachedData?.buffer.transfer(0);
  const run = script.runInThisContext() as (dirname: string, filename: string, require: NodeRequire) => T;
  let isKept = file === null || script.cachedDataRejected === false;
  const keep = (): void => {
    if (isKept) return;
    isKept = true;
    writeWhole(file!, script.createCachedData());
  };
  return { exports: run(folder, filename, createRequire(filename)), keep };
}

function readIfThere(file: string): Buffer<ArrayBuffer> | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/**
 * Writes a file. It gets its name when its content is on the disk, because V8 does not notice a damaged cache. The caches of other
 * builds are removed.
 */
function writeWhole(file: string, content: Buffer): void {
  const folder = path.dirname(file);
  const unfinished = `${file}.${process.pid}`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const descriptor = openSync(unfinished, "wx", 0o600);
    try {
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(unfinished, file);
    for (const name of readdirSync(folder)) if (name !== path.basename(file)) rmSync(path.join(folder, name));
  } catch {
    // A folder that cannot be written, such as that of another user, costs time only: each start compiles again.
    removeIfPossible(unfinished);
  }
}

/** Removes a file. A process that has given up root may not even look for it, if the checkout is in a private folder of root. */
function removeIfPossible(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The process has no permission for the folder, so it has not created the file either.
  }
}
