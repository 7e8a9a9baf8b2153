import assert from "node:assert/strict";
import { it } from "node:test";

import { containerPage } from "../../../src/http/api/container-list.ts";
import type { ApiDependencies } from "../../../src/http/api/route.ts";
import { LimitSubject } from "../../../src/limits/limit-subject.ts";
import { Limiter } from "../../../src/limits/limiter.ts";
import type { LimitStore } from "../../../src/limits/store.ts";
import type { Caller } from "../../../src/tokens/caller.ts";
import { HandClock, inFolder, withStore } from "../../limits/stores/folder.ts";

const NAMES = Array.from({ length: 100 }, (_, at) => `c${String(at).padStart(3, "0")}`);
const CALLER = { claims: { admin: false, containers: NAMES }, family: "family" } as unknown as Caller;

it("a page reads the counts of few names at a time, and of no names after it, for the family of its reader", async () => {
  await inFolder((folder) =>
    withStore(folder, { clock: new HandClock() }, async (store) => {
      const reads: { readonly keys: number; readonly holder: string | undefined }[] = [];
      const counting = Object.create(store, {
        read: {
          value: (...[charges, holder]: Parameters<LimitStore["read"]>) => {
            reads.push({ keys: charges.length, holder });
            return store.read(charges);
          },
        },
        keys: { value: store.keys.bind(store) },
      }) as LimitStore;
      const none = new LimitSubject("one", { container: {}, token: {} }, []);
      const used = new Limiter(store, { container: {}, token: {} });
      for (const name of NAMES.slice(40)) await used.admit(name, none);
      const dependencies = {
        policies: { containers: () => [], get: () => undefined },
        limiter: new Limiter(counting, { container: {}, token: {} }),
        containers: { names: () => [], activity: () => ({}) },
      } as unknown as ApiDependencies;
      const page = async (after: string, count: number): Promise<unknown[]> => {
        reads.length = 0;
        const { containers, next } = (await containerPage({ after, count, filter: null }, CALLER, dependencies)) as {
          containers: { container: string }[];
          next: string | null;
        };
        assert.ok(
          reads.every(({ keys, holder }) => keys <= 25 && holder === "family"),
          JSON.stringify(reads),
        );
        const keys = reads.reduce((sum, read) => sum + read.keys, 0);
        return [containers.map(({ container }) => container), next, keys];
      };
      // The first 50 names, of which 10 count, and the use of the one of the page.
      assert.deepEqual(await page("", 1), [["c040"], "c040", 51]);
      assert.deepEqual(await page("c041", 2), [["c042", "c043"], "c043", 27]);
      assert.deepEqual(await page("c097", 9), [["c098", "c099"], null, 4]);
      assert.deepEqual(await page("", 100), [NAMES.slice(40), null, 160]);
    }),
  );
});
