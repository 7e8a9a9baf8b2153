import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { constants, Script } from "node:vm";

/**
 * The script that Node starts in a guest. It loads the program in the same folder with V8's code cache, which the service
 * makes once for all guests. The cache saves each guest the parsing and compiling, a fifth of the CPU time of a start. V8
 * only checks that the cache matches its version and the length of the text. That is enough, because the service writes
 * both files together and no guest can write them.
 */
const folder = import.meta.dirname;
const cachedData = readIfThere(`${folder}/program.cache`);
// latin1 maps each byte to one character: V8 reads one-byte strings with less work.
const script = new Script(readFileSync(`${folder}/program.js`, "latin1"), {
  filename: `${folder}/program.js`,
  ...(cachedData && { cachedData }),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
// V8 has read the cache. Until a collection, a megabyte would stay with each guest.
cachedData?.buffer.transfer(0);
const program = script.runInThisContext() as (folder: string) => Promise<void>;
// A task must see no main module, and no module that was loaded before its own.
delete process.mainModule;
const main = `${folder}/main.js`;
delete createRequire(main).cache[main];
// Node's exit code for a module whose top-level await never settles.
process.exitCode = 13;
await program(folder);
process.exitCode = undefined;
// The service passes "cache" when it makes the cache. By now the cache includes all functions that the warm-up called.
if (process.argv.at(-1) === "cache") writeFileSync(1, script.createCachedData());

function readIfThere(file: string): Buffer<ArrayBuffer> | null {
  try {
    return readFileSync(file);
  } catch {
    return null;
  }
}
