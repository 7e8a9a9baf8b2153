import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { MAX_VERSIONS, type StoredVersion, type TaskRoom, type TaskStore } from "../../src/tasks/store.ts";

/** A store that can be closed and opened again. */
export interface TaskStoreUnderTest {
  store: TaskStore;
  /** Closes the store and opens it again. */
  reopen: () => Promise<TaskStore>;
  /** Closes the store and removes its data. */
  end: () => Promise<void>;
}

/** The limits of an administrator, higher than any of these tests needs. */
const ROOMY: TaskRoom = { containerTasks: 100, family: null, familyTasks: 100, familyBytes: 2 ** 30 };

/** The promises of every task store. */
export function taskStoreSuite(subject: string, open: () => Promise<TaskStoreUnderTest>): void {
  const promise = (sentence: string, body: (under: TaskStoreUnderTest) => Promise<void>): void => {
    it(sentence, async () => {
      const under = await open();
      try {
        await body(under);
      } finally {
        await under.end();
      }
    });
  };

  describe(`${subject} as a task store`, () => {
    promise("has nothing for a task that was never put", async ({ store }) => {
      assert.equal(await store.newest("a", "task"), null);
      assert.equal(await store.version("a", "task", 1), null);
      assert.deepEqual(await store.versions("a", "task"), []);
      assert.deepEqual(await store.list("a", "", 9), []);
      assert.equal(await store.remove("a", "task", "none"), false);
    });

    promise("keeps each version with its code, even when it is opened again", async (under) => {
      const [first, second] = [version(1, "const a = 'é\\0'"), version(2, null)];
      assert.equal(await under.store.put("a", "task", first, null, ROOMY), "stored");
      assert.equal(await under.store.put("a", "task", second, first.etag, ROOMY), "stored");
      for (const turn of [() => under.store, under.reopen]) {
        const store = await turn();
        assert.equal(await store.newest("a", "task"), second.record);
        assert.deepEqual(await store.version("a", "task", 1), first);
        assert.deepEqual(await store.version("a", "task", 2), second);
        assert.deepEqual(await store.versions("a", "task"), [second.record, first.record]);
      }
    });

    promise("keeps the notes of killed changes, even when it is opened again", async (under) => {
      // Nodes that share a store wait until no other node can be making the change.
      const laterMs = Date.now() + 3_600_000;
      for (const id of ["one", "two"]) await under.store.keepNote(id, `the note ${id}`, Date.now());
      await under.store.deleteNote("one");
      await under.store.deleteNote("never kept");
      const store = await under.reopen();
      assert.deepEqual([...(await store.killedNotes(laterMs))], [["two", "the note two"]]);
      await store.deleteNote("two");
      assert.equal((await store.killedNotes(laterMs)).size, 0);
    });

    promise("changes nothing if another version is the newest", async ({ store }) => {
      const [first, other] = [version(1, "1"), version(2, "2")];
      assert.equal(await store.put("a", "task", first, "elsewhere", ROOMY), "changed");
      assert.equal(await store.newest("a", "task"), null);
      await store.put("a", "task", first, null, ROOMY);
      for (const after of [null, other.etag]) {
        assert.equal(await store.put("a", "task", other, after, ROOMY), "changed");
        assert.equal(await store.remove("a", "task", other.etag), false);
      }
      assert.equal(await store.newest("a", "task"), first.record);
    });

    promise("accepts one of many rival writes after the same version", async ({ store }) => {
      await store.put("a", "task", version(1, "1"), null, ROOMY);
      const rivals = Array.from({ length: 10 }, (_, rival) => version(2, `${rival}`, `rival-${rival}`));
      const won = await Promise.all(rivals.map(async (each) => store.put("a", "task", each, "etag-1", ROOMY)));
      assert.equal(won.filter((outcome) => outcome === "stored").length, 1);
      assert.equal(await store.newest("a", "task"), rivals[won.indexOf("stored")]!.record);
    });

    promise("keeps the last versions, and no others", async ({ store }) => {
      const all = Array.from({ length: MAX_VERSIONS + 3 }, (_, at) => version(at + 1, `${at}`));
      for (const each of all)
        await store.put("a", "task", each, each.version === 1 ? null : `etag-${each.version - 1}`, ROOMY);
      const kept = all.slice(-MAX_VERSIONS).toReversed();
      assert.deepEqual(
        await store.versions("a", "task"),
        kept.map(({ record }) => record),
      );
      assert.equal(await store.version("a", "task", 3), null);
      assert.deepEqual(await store.version("a", "task", 4), all[3]);
    });

    promise(
      "accepts at most the allowed number of tasks in a container, and changes of existing tasks",
      async ({ store }) => {
        const put = async (container: string, name: string, number: number): Promise<string> => {
          return store.put(container, name, version(number, "1"), number === 1 ? null : `etag-${number - 1}`, {
            ...ROOMY,
            containerTasks: 2,
          });
        };
        assert.deepEqual([await put("a", "one", 1), await put("a", "two", 1)], ["stored", "stored"]);
        assert.deepEqual([await put("a", "three", 1), await store.newest("a", "three")], ["containerTasks", null]);
        assert.deepEqual([await put("a", "two", 2), await put("b", "three", 1)], ["stored", "stored"]);
        assert.equal(await store.remove("a", "one", "etag-1"), true);
        assert.deepEqual([await put("a", "three", 1), await put("a", "one", 1)], ["stored", "containerTasks"]);
        assert.deepEqual((await store.list("a", "", 9)).length, 2);
      },
    );

    promise("accepts one of many rival writes for the last task of a container", async ({ store }) => {
      const rivals = Array.from({ length: 10 }, (_, rival) => `t${rival}`);
      const won = await Promise.all(
        rivals.map(async (name) => store.put("a", name, version(1, "1"), null, { ...ROOMY, containerTasks: 1 })),
      );
      assert.equal(won.filter((outcome) => outcome === "stored").length, 1);
      assert.equal(won.filter((outcome) => outcome === "containerTasks").length, 9);
    });

    promise(
      "counts the tasks of a family in all containers, and accepts changes of its existing tasks",
      async ({ store }) => {
        const room = { ...ROOMY, family: "one", familyTasks: 2 };
        const put = async (container: string, number: number, within: TaskRoom = room): Promise<string> => {
          return store.put(container, "task", version(number, "1"), number === 1 ? null : `etag-${number - 1}`, within);
        };
        assert.deepEqual(
          [await put("a", 1), await put("b", 1), await put("c", 1)],
          ["stored", "stored", "familyTasks"],
        );
        assert.equal(await store.newest("c", "task"), null);
        assert.deepEqual([await put("a", 2), await put("c", 1, { ...room, family: "other" })], ["stored", "stored"]);
        // A change makes it a task of the caller's family.
        assert.equal(await put("c", 2), "familyTasks");
        assert.equal(await put("b", 2, ROOMY), "stored");
        assert.deepEqual([await put("c", 2), await put("b", 3)], ["stored", "familyTasks"]);
        assert.equal(await store.remove("a", "task", "etag-2"), true);
        assert.equal(await put("b", 3), "stored");
      },
    );

    promise("counts the bytes of a family with all stored versions", async (under) => {
      const code = "é".repeat(500);
      const size = Buffer.byteLength(code + version(1, code).record);
      const room = { ...ROOMY, family: "one", familyBytes: MAX_VERSIONS * size + 100 };
      const put = async (store: TaskStore, container: string, number: number, text = code): Promise<string> => {
        return store.put(container, "task", version(number, text), number === 1 ? null : `etag-${number - 1}`, room);
      };
      for (let number = 1; number <= MAX_VERSIONS; number++) {
        assert.equal(await put(under.store, "a", number), "stored");
      }
      const store = await under.reopen();
      assert.equal(await put(store, "b", 1), "familyBytes");
      assert.equal(await store.newest("b", "task"), null);
      // The oldest version is deleted, so this write does not grow the task. A larger version does not fit.
      assert.equal(await put(store, "a", MAX_VERSIONS + 1), "stored");
      assert.equal(await put(store, "a", MAX_VERSIONS + 2, code.repeat(2)), "familyBytes");
      assert.deepEqual(await store.version("a", "task", MAX_VERSIONS + 2), null);
      assert.notEqual(await store.version("a", "task", 2), null);
      assert.equal(await store.put("b", "task", version(1, code), null, { ...room, family: "other" }), "stored");
      assert.equal(await store.put("b", "task", version(2, code), "etag-1", room), "familyBytes");
      assert.equal(await store.remove("a", "task", `etag-${MAX_VERSIONS + 1}`), true);
      assert.equal(await store.put("b", "task", version(2, code), "etag-1", room), "stored");
    });

    promise("accepts one of many rival writes for the last task of a family", async ({ store }) => {
      const room = { ...ROOMY, family: "one", familyTasks: 1 };
      const rivals = Array.from({ length: 10 }, (_, rival) => `c${rival}`);
      const won = await Promise.all(rivals.map(async (each) => store.put(each, "task", version(1, "1"), null, room)));
      assert.equal(won.filter((outcome) => outcome === "stored").length, 1);
      assert.equal(won.filter((outcome) => outcome === "familyTasks").length, 9);
    });

    promise("removes a task with all its versions, and accepts a new task of that name", async ({ store }) => {
      await store.put("a", "task", version(1, "1"), null, ROOMY);
      await store.put("a", "task", version(2, "2"), "etag-1", ROOMY);
      assert.equal(await store.remove("a", "task", "etag-2"), true);
      assert.equal(await store.newest("a", "task"), null);
      assert.equal(await store.version("a", "task", 1), null);
      assert.deepEqual(await store.list("a", "", 9), []);
      assert.equal(await store.put("a", "task", version(1, "again"), null, ROOMY), "stored");
      assert.equal((await store.version("a", "task", 1))?.code, "again");
      assert.equal(await store.version("a", "task", 2), null);
    });

    promise("lists the newest versions of a container's tasks by name, page by page", async ({ store }) => {
      const names = Array.from({ length: 25 }, (_, at) => `t${at}`);
      for (const name of names) await store.put("a", name, version(1, "1", name), null, ROOMY);
      await store.put("a", "t3", version(2, "2", "newer"), "t3", ROOMY);
      await store.put("b", "t1", version(1, "1", "elsewhere"), null, ROOMY);
      const expected = names.toSorted().map((name) => version(1, "", name === "t3" ? "newer" : name).etag);
      const seen: string[] = [];
      for (let after = ""; ;) {
        const page = (await store.list("a", after, 10)).map((record) => JSON.parse(record) as { etag: string });
        if (page.length === 0) break;
        assert.ok(page.length <= 10);
        seen.push(...page.map(({ etag }) => etag));
        after = names.toSorted()[seen.length - 1]!;
      }
      assert.deepEqual(seen, expected);
      assert.deepEqual((await store.names("a", 100)).toSorted(), names.toSorted());
      assert.equal((await store.names("a", 7)).length, 7);
    });
  });
}

function version(number: number, code: string | null, etag: string = `etag-${number}`): StoredVersion {
  return { version: number, etag, record: JSON.stringify({ etag, number }), code };
}
