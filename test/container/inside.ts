/**
 * Runs attacks of the corpus against the service of the container in which it is started, with the rights of the container.
 * The canaries are in the container, too. Prints a line of JSON for each attack, and one line for all attacks.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import { request } from "../contract/http.ts";
import { type Attacked, assault, SHARED } from "../hostile/assault.ts";
import { type Attack, readAttacks } from "../hostile/attack.ts";
import { createCanaries } from "../hostile/canaries.ts";
import type { Row } from "../hostile/table.ts";
import { CHOSEN, type Verdict } from "./chosen.ts";

/** The same limits as for the whole corpus. */
const AT_ONCE = 4;
const PORT = 7070;

const attacks = readAttacks("confined").filter(({ kind, name }) => CHOSEN[kind]?.includes(name));
const [sharing, apart] = [true, false].map((each) => attacks.filter((attack) => attack.changesNothing === each));
const canaries = await createCanaries();
const service = connect();
await Promise.all([work(sharing!, SHARED), ...Array.from({ length: AT_ONCE - 1 }, () => work(apart!))]);
console.log(JSON.stringify({ error: faultOf(() => canaries.assertUntouched()) }));
await canaries[Symbol.asyncDispose]();

/** Takes attacks from a list until it is empty. @param container the container of all of them. By default, each has its own. */
async function work(left: Attack[], container?: string): Promise<void> {
  for (let attack = left.shift(); attack; attack = left.shift()) {
    console.log(JSON.stringify(await judge(attack, container)));
  }
}

async function judge(attack: Attack, container?: string): Promise<Verdict> {
  const row: Row = { kind: attack.kind, name: attack.name, expected: "", outcome: "", ms: 0 };
  try {
    await assault(service, canaries, attack, row, container);
    return { ...row, error: null };
  } catch (error) {
    return { ...row, error: (error as Error).message };
  }
}

function faultOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function connect(): Attacked {
  const token = readFileSync(path.join(process.env["CAISSON_DATA"]!, "admin.token"), "utf8").trim();
  return {
    port: PORT,
    run: (container, code, options = {}) => {
      return request(PORT, "POST", `/api/run/${container}`, { token, body: code, ...options });
    },
    // The engine collects the log of the service.
    stderr: () => "",
  };
}
