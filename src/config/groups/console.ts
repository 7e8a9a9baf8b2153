import { many, one, type Settings } from "../setting.ts";
import { colour, file, integer, origins, text, webUrl } from "../values.ts";

export interface ConsoleConfig {
  readonly consolePort: number | null;
  readonly consoleServiceUrl: string | null;
  readonly consoleFrameAncestors: readonly string[];
  readonly consoleTitle: string;
  readonly consoleAccent: string | null;
  readonly consoleLogo: string | null;
}

export const CONSOLE: Settings<ConsoleConfig> = {
  consolePort: one<number | null>(
    "--console-port <number>",
    null,
    "port of the web console, so that it has an origin that no task can answer from; 0 takes any free port; default: at / of --port",
    integer(0, 65_535),
  ),
  consoleServiceUrl: one<string | null>(
    "--console-service-url <url>",
    null,
    "URL at which browsers reach the service, for a console with --console-port behind a proxy; default: the host of the " +
      "console with --port",
    webUrl,
  ),
  consoleFrameAncestors: many<readonly string[]>(
    "--console-frame-ancestors <origin>",
    [],
    "origins whose pages may embed the console, such as https://app.example.com; default: none, which stops clickjacking",
    origins,
  ),
  consoleTitle: one("--console-title <text>", "caisson", "name that the console shows", text),
  consoleAccent: one<string | null>(
    "--console-accent <colour>",
    null,
    "accent colour of the console, such as #7a3cff; it must be readable on white and on black",
    colour,
  ),
  consoleLogo: one<string | null>(
    "--console-logo <file>",
    null,
    "SVG or PNG that the console shows, at most 64 KiB",
    file,
  ),
};
