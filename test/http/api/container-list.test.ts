import assert from "node:assert/strict";
import { it } from "node:test";

import { containerPage } from "../../../src/http/api/container-list.ts";
import type { ApiDependencies } from "../../../src/http/api/route.ts";
import { LimitSubject } from "../../../src/limits/limit-subject.ts";
import { Limiter } from "../../../src/limits/limiter.ts";
import type { LimitStore } from "../../../src/limits/store.ts";
import { selectContainers } from "../../../src/policies/select-containers.ts";
import { type ContainerPolicy, NO_POLICY } from "../../../src/policies/store.ts";
import type { Caller } from "../../../src/tokens/caller.ts";
import { HandClock, inFolder, withStore } from "../../limits/stores/folder.ts";

const NAMES = Array.from({ length: 100 }, (_, at) => `c${String(at).padStart(3, "0")}`);
const CALLER = { claims: { admin: false, containers: NAMES }, family: "family" } as unknown as Caller;

interface Listed {
  readonly containers: readonly { readonly container: string }[];
  readonly next: string | null;
}

async function pageOf(dependencies: ApiDependencies, after: string, count: number): Promise<Listed> {
  return JSON.parse(await containerPage({ after, count, filter: null }, CALLER, dependencies)) as Listed;
}

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
        policies: { containers: () => Promise.resolve([]), get: () => undefined },
        limiter: new Limiter(counting, { container: {}, token: {} }),
        containers: { names: () => [], activity: () => ({}) },
      } as unknown as ApiDependencies;
      const page = async (after: string, count: number): Promise<unknown[]> => {
        reads.length = 0;
        const { containers, next } = await pageOf(dependencies, after, count);
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

it("a page ends at two megabytes, and the next one continues", async () => {
  // The longest labels and description, each character of which takes six in JSON.
  const text = "\u0001".repeat(128);
  const labels = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [String(at).padStart(32, "l"), text]));
  const large: ContainerPolicy = { ...NO_POLICY, labels, description: text.repeat(4) };
  const names = Array.from({ length: 400 }, (_, at) => `c${String(at).padStart(3, "0")}`);
  const dependencies = {
    policies: {
      containers: (after: string, count: number) =>
        selectContainers(
          names.map((name) => [name, large]),
          after,
          count,
        ),
      get: () => large,
    },
    limiter: {
      containers: () => Promise.resolve([]),
      counted: () => Promise.resolve([]),
      uses: (some: readonly string[]) => Promise.resolve(some.map(() => ({ used: [], limits: [], resets: [] }))),
    },
    containers: { names: () => [], activity: () => ({}) },
  } as unknown as ApiDependencies;
  const listed: string[] = [];
  let after = "";
  for (let pages = 1; ; pages += 1) {
    const written = await containerPage({ after, count: 1_000, filter: null }, CALLER, dependencies);
    assert.ok(written.length < 2.1 * 2 ** 20, `a page of ${written.length} characters`);
    const { containers, next } = JSON.parse(written) as Listed;
    listed.push(...containers.map(({ container }) => container));
    if (next === null) {
      assert.ok(pages > 2);
      break;
    }
    assert.equal(next, listed.at(-1));
    after = next;
  }
  assert.deepEqual(listed, names);
});
