import type { TokenRequest } from "@caisson/client";

import { perWindow } from "./format.ts";

const VERBS: Readonly<Record<string, string>> = {
  run: "run code",
  limits: "read what limits leave",
  logs: "read the console, the errors and the usage of runs",
  tasks: "create, change and delete named tasks",
  issue: "issue tokens below itself",
};

/** Returns what a token may do, in plain words. */
export function describe(request: TokenRequest): string[] {
  if (request.admin) return ["It may do everything, in all containers, until it is revoked."];
  const containers = request.containers ?? [];
  const verbs = (request.can ?? ["run", "limits"]).map((verb) => VERBS[verb] ?? verb);
  const limits = Object.entries(request.limits?.token ?? {}).map(
    ([window, value]) => `${value} runs ${perWindow(window)}`,
  );
  const net =
    request.net === false
      ? "Its code reaches no network."
      : request.net
        ? `Its code reaches only ${request.net.join(", ")}.`
        : "Its code reaches every host that the service permits.";
  return [
    containers.length === 0 ? "Name at least one container." : `It works in ${containers.map(nameOf).join(", ")}.`,
    `It may ${verbs.join(", ")}.`,
    net,
    ...(request.packages === false ? ["Its code imports no package of npm."] : []),
    ...(request.packages ? [`Its code imports only ${request.packages.join(", ")} of npm.`] : []),
    limits.length === 0 ? "No limit of the token applies." : `It may make at most ${limits.join(", ")}.`,
    ...(request.timeout ? [`Each run takes at most ${request.timeout}.`] : []),
    `It ends ${request.expiresIn ? `after ${request.expiresIn}` : "after a day"}, or when it is revoked.`,
  ];
}

function nameOf(pattern: string): string {
  if (pattern === "*") return "all containers";
  return pattern.endsWith("*") ? `all containers that begin with ${pattern.slice(0, -1)}` : pattern;
}
