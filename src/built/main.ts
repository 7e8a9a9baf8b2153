import type * as CommandLine from "../command-line.ts";
import { loadProgram } from "./load-program.ts";

// A service keeps its compiled code before it gives up root; a command at its end, when it has called what it needs.
const isService = process.argv[2] === "serve";
const { exports, keep } = loadProgram<typeof CommandLine>("program", isService ? "service" : "command");
if (!isService) process.once("exit", keep);
await exports.commandLine(isService ? keep : () => {});
