import { enableCompileCache } from "node:module";
import path from "node:path";

// The cache contains modules that an earlier start stripped and compiled, so they load in half the time. It is next to
// the code and as trusted, and not in a temporary folder where any user could plant files.
enableCompileCache(path.join(import.meta.dirname, "../node_modules/.cache/caisson"));
const { commandLine } = await import("./command-line.ts");
await commandLine();
