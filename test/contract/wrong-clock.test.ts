import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { it } from "node:test";

import { assertProblem } from "./problem.ts";
import { type Home, makeHome, NO_WALL, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** The library of the package faketime, which gives a program another wall clock. */
const [LIBRARY] = globSync("/usr/lib/*/faketime/libfaketime.so.1");

/** Starts a service whose wall clock is ahead, and whose monotonic clocks are those of the system. */
async function startAhead(ahead: string, home: Home): Promise<Service> {
  const clock = { LD_PRELOAD: LIBRARY!, FAKETIME: ahead, FAKETIME_DONT_FAKE_MONOTONIC: "1", DONT_FAKE_MONOTONIC: "1" };
  Object.assign(process.env, clock);
  try {
    return await startService(NO_WALL, home);
  } finally {
    for (const name of Object.keys(clock)) delete process.env[name];
  }
}

async function issue(service: Service, claims: object): Promise<{ token: string; jti: string }> {
  const answer = await service.request("POST", "/api/tokens", {
    json: { containers: ["c"], expiresIn: "1h", ...claims },
  });
  return answer.json() as { token: string; jti: string };
}

async function listed(service: Service, path: string): Promise<string> {
  return (await service.request("GET", path)).text;
}

async function withService<T>(starting: Promise<Service>, act: (service: Service) => Promise<T>): Promise<T> {
  const service = await starting;
  try {
    return await act(service);
  } finally {
    await service.stop();
  }
}

it(
  "one start with a clock that is days ahead makes no revoked token valid and deletes no secret",
  { skip: LIBRARY === undefined ? "faketime is not installed" : false },
  async () => {
    await using home = await makeHome();
    const [revoked, kept] = await withService(startService(NO_WALL, home), async (service) => {
      const tokens = [
        await issue(service, {}),
        await issue(service, { secretsReadable: true, secrets: { KEY: "kept" } }),
      ];
      assert.equal((await service.request("DELETE", `/api/tokens/${tokens[0]!.jti}`)).status, 200);
      return tokens as [(typeof tokens)[0], (typeof tokens)[0]];
    });
    const other = await withService(startAhead("+3d", home), async (service) => {
      for (const { token } of [revoked, kept]) {
        assertProblem(await service.run("c", "1", { token }), 403, "token_invalid");
      }
      // Each write can delete records that have ended.
      const token = await issue(service, { secretsReadable: true, secrets: { KEY: "other" } });
      assert.equal((await service.request("DELETE", `/api/tokens/${token.jti}`)).status, 200);
      return token;
    });
    await withService(startService(NO_WALL, home), async (service) => {
      for (const { token } of [revoked, other]) {
        assertProblem(await service.run("c", "1", { token }), 403, "token_invalid");
      }
      const answer = await service.run("c", "(context) => context.secrets.KEY", { token: kept.token });
      assert.equal(`${answer.status} ${answer.text}`, '200 "kept"');
    });
  },
);

it(
  "one start with a clock that is a year ahead deletes no record of a run, no usage and no entry of the audit",
  { skip: LIBRARY === undefined ? "faketime is not installed" : false },
  async () => {
    await using home = await makeHome();
    const run = await withService(startService(NO_WALL, home), async (service) => {
      await issue(service, { description: "early" });
      return (await service.run("early", "console.log(1); return 1")).headers["caisson-run"]!;
    });
    await withService(startAhead("+400d", home), async (service) => {
      await service.run("late", "1");
      await issue(service, {});
      // The deletion of old days ends before further records are written.
      await until(async () => (await listed(service, "/api/runs/late")).includes('"ok"'), "the record is listed");
    });
    await withService(startService(NO_WALL, home), async (service) => {
      assert.match(await listed(service, "/api/runs/early"), new RegExp(run));
      assert.match(await listed(service, "/api/usage"), /"container":"early"/);
      const { entries } = (await service.request("GET", "/api/audit")).json() as { entries: object[] };
      assert.equal(entries.length, 2);
    });
  },
);
