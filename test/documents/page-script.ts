import type { Block } from "./page-blocks.ts";

/** A command of a page, with the output that the page shows for it. */
export interface Step {
  readonly command: string;
  readonly answer: string | null;
}

/** Stands in the output of a script after each command. */
const END = "@end of a command@";
/** The parts that vary between answers: omitted parts, ids of runs, times, the start of a guest. */
const VARYING = /\.{3}|[\da-f]{12}-\d+|(?<=dur=)[\d.]+|(?<=desc=")\w+|(?<="retryAfter(?:Ms)?":)\d+|\d+(?= s",)/;
/** The functions of a script. A command that serves goes on in the background as soon as it prints its curl line. */
const FUNCTIONS = `
set -e
exec 2>&1
server=
stop() {
  [ -n "$server" ] || return 0
  kill -TERM -"$server" 2> /dev/null || true
  wait "$server" || true
  # npm may end before the service.
  while kill -0 -"$server" 2> /dev/null; do sleep 0.1; done
  server=
}
trap stop EXIT
trap 'cat server.log; exit 1' TERM
serve() {
  stop
  # The line of the service before must not be found: the shell of the next one empties the file later.
  : > server.log
  CAISSON_ISOLATION=$SERVICE_ISOLATION setsid "$@" > server.log 2>&1 &
  server=$!
  until grep -q '^curl ' server.log; do
    kill -0 "$server" 2> /dev/null || { cat server.log >&2; exit 1; }
    sleep 0.1
  done
}
`;

/** Returns the commands of a block: a block `console` shows each after a prompt, a block `sh` is one command. */
export function stepsOf({ language, text }: Block): Step[] {
  if (language === "sh") return [{ command: text.trim(), answer: null }];
  const parts = text.split(/^\$ /m).filter((part) => part !== "");
  return parts.map((part) => {
    const [command] = /^(?:.*\\\n)*.*\n/.exec(part)!;
    return { command: command.trim(), answer: part.slice(command.length).trim() };
  });
}

/** @param start the command that serves while a page has not started a service; null if a service serves already */
export function scriptOf(steps: readonly Step[], start: string | null): string {
  const startsItself = /\bnpm start\b/.test(steps[0]?.command ?? "");
  const commands = steps.map(({ command }) => `${servingInBackground(command)}\nprintf '\\n${END}\\n'\n`);
  return `${FUNCTIONS}${startsItself || start === null ? "" : `serve ${start}\n`}${commands.join("")}`;
}

function servingInBackground(command: string): string {
  return (
    command
      .replaceAll(/^((?:\w+=\S+ (?:\\\n\s+)?)*npm start\b)/gm, "serve env $1")
      // This test is a part of it.
      .replaceAll(/^npm test\b/gm, ": ")
  );
}

/** Returns the output of each command. */
export function outputsOf(stdout: string): string[] {
  return stdout.replaceAll("\r", "").split(`\n${END}\n`);
}

/** Returns what the output of a command must match. */
export function expected(answer: string): RegExp {
  const fixed = answer.split(VARYING).map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  return new RegExp(`^${fixed.join(String.raw`[\s\S]*?`)}$`);
}
