import { EmbeddedLimitStore } from "../../../src/limits/stores/embedded.ts";
import { failOnError, HandClock, inFolder } from "../stores/folder.ts";
import { type Restarting, StoreTime } from "./naive.ts";

/** Calls `body` with a store in its own folder, which can be closed and opened again. */
export async function withRestarts(body: (under: Restarting, time: StoreTime) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const clock = new HandClock();
    const open = (): Promise<EmbeddedLimitStore> =>
      EmbeddedLimitStore.open(folder, { fsync: false, clock, onError: failOnError });
    let store = await open();
    const under = {
      get store() {
        return store;
      },
      restart: async () => {
        await store.close();
        store = await open();
      },
    };
    try {
      await body(under, new StoreTime(clock));
    } finally {
      await store.close();
    }
  });
}
