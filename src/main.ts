import { enableCompileCache, flushCompileCache } from "node:module";
import path from "node:path";

// Beside the code and as trusted as it is, and not in a temporary folder where anybody could plant some. What is in it
// was stripped and compiled at an earlier start; the modules load in half the time.
enableCompileCache(path.join(import.meta.dirname, "../node_modules/.cache/caisson"));
const { program } = await import("./cli/program.ts");
// Now: at its end the service may be somebody who may not write there.
flushCompileCache();
await program().parseAsync();
