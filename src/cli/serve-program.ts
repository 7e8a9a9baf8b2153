import type { Command } from "commander";

import { programOf, THIS_MACHINE } from "./program-of.ts";
import { serveCommand } from "./serve.ts";

/** Creates the command line of the service, which is that of all commands without the others. */
export function program(): Command {
  return programOf({ [THIS_MACHINE]: [serveCommand] });
}
