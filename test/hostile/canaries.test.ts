import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { describe, it } from "node:test";

import { until } from "../contract/until.ts";
import { type Canaries, createCanaries } from "./canaries.ts";

type Places = Readonly<Record<string, string | number>>;

const NAMES = ["FILE", "OPEN_FILE", "FOLDER", "SOCKET", "ABSTRACT", "PORT", "UDP_PORT", "PID"];
/** The actions of an attack without a sandbox. */
const TOUCHES: Readonly<Record<string, (places: Places) => void | Promise<void>>> = {
  "connects over TCP": ({ PORT }) => reach({ port: Number(PORT), host: "127.0.0.1" }),
  "connects to a path": ({ SOCKET }) => reach({ path: String(SOCKET) }),
  "connects to an abstract name": ({ ABSTRACT }) => reach({ path: String(ABSTRACT) }),
  "sends a datagram": async ({ UDP_PORT }) => {
    const socket = createSocket("udp4");
    socket.send("x", Number(UDP_PORT), "127.0.0.1", () => socket.close());
    await once(socket, "close");
  },
  "writes to a file": ({ OPEN_FILE }) => appendFileSync(String(OPEN_FILE), "changed"),
  "leaves a file next to it": ({ FOLDER }) => writeFileSync(path.join(String(FOLDER), "left"), ""),
  "removes a file": ({ FILE }) => rmSync(String(FILE)),
  "kills a process": ({ PID }) => void process.kill(Number(PID), "SIGKILL"),
};

describe("a canary", () => {
  it("is untouched while no attack runs", async () => {
    await using canaries = await createCanaries();
    canaries.assertUntouched();
  });

  for (const [what, touch] of Object.entries(TOUCHES)) {
    it(`detects an attack that ${what}`, async () => {
      await using canaries = await createCanaries();
      await touch(placesOf(canaries));
      await until(() => isTouched(canaries), "the canary is touched");
    });
  }
});

function placesOf(canaries: Canaries): Places {
  const text = `({ ${NAMES.map((name) => `"${name}": CANARY_${name}`).join()} })`;
  return JSON.parse(canaries.fill(text, 0).slice(1, -1)) as Places;
}

async function reach(where: { port: number; host: string } | { path: string }): Promise<void> {
  const socket = connect(where);
  await once(socket, "connect");
  socket.destroy();
}

function isTouched(canaries: Canaries): boolean {
  try {
    canaries.assertUntouched();
    return false;
  } catch (error) {
    assert.ok(error instanceof assert.AssertionError);
    return true;
  }
}
