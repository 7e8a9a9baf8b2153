import type * as ServeLauncher from "../sandbox/launcher/serve-launcher.ts";
import { loadProgram } from "./load-program.ts";

const { exports, keep } = loadProgram<typeof ServeLauncher>("launcher-program", "launcher");
await exports.serveLauncher(keep);
