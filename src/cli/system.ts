import { Command } from "commander";

import type { System } from "../../client/src/index.ts";
import { fields, table } from "./print/table.ts";
import { timeText } from "./print/texts.ts";
import { remote } from "./remote.ts";

const LABELS: Readonly<Record<System["checks"][number]["state"], string>> = { held: "ok", weak: "weak", open: "FAIL" };

/** What `doctor` reports, of a service that runs, also on another machine. */
export function systemCommand(): Command {
  const command = new Command("system").description(
    "print what the service has found of its machine and its sandbox, its warnings, nodes and keys",
  );
  const examples = ["system", "system --url https://caisson.example", "system --json"];
  return remote(command, examples, async ({ caisson, print }) => {
    const system = await caisson.system();
    print(system, () => systemText(system));
  });
}

function systemText({ version, startedAt, node, isolation, warnings, checks, nodes, keys }: System): string {
  const others = nodes.filter(({ state }) => state !== "self");
  return [
    fields([
      ["version", version],
      ["started", timeText(startedAt)],
      ["node", node.name],
      ["isolation", `${isolation.level} (${isolation.mechanisms})`],
      ["instead of", isolation.insteadOf],
      ["resources", isolation.resources],
      ...others.map((other): [string, string] => ["other node", nodeText(other)]),
      ...keys.map(({ kid, state }): [string, string] => ["key", `${kid}, ${state}`]),
      ...warnings.map((warning): [string, string] => ["warning", warning]),
    ]),
    table(
      [{ head: "state" }, { head: "layer" }, { head: "proof" }],
      checks.map(({ layer, state, proof, remedy }) => [
        LABELS[state],
        layer,
        remedy === null ? proof : `${proof} -> ${remedy}`,
      ]),
    ),
  ].join("\n");
}

function nodeText({ name, url, state, version, isolation }: System["nodes"][number]): string {
  const known = version === null ? [] : [`version ${version}`, `isolation ${isolation}`];
  return [name, url ?? "no URL", state, ...known].join(", ");
}
