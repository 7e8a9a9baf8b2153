import { enableCompileCache, flushCompileCache } from "node:module";
import path from "node:path";

import { enterUserFolder } from "./user-folder.ts";

// The cache contains modules that an earlier start stripped and compiled, so they load in half the time. It is next to
// the code and as trusted, and not in a temporary folder where any user could plant files.
enableCompileCache(path.join(import.meta.dirname, "../node_modules/.cache/caisson"));
enterUserFolder(process.env);
const { program } = await import("./cli/program.ts");
// The cache is written now, because later the service may run as a user without write access.
flushCompileCache();
// Without a command, the user needs the list of commands.
await program().parseAsync(process.argv.length > 2 ? process.argv : [...process.argv, "--help"]);
