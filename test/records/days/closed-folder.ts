/**
 * Gives up root as the service does: in the data folder of its first argument, for the user of its second argument. Then
 * adds a run, and writes why it is not stored.
 */
import { until } from "../../contract/until.ts";
import { keptRun, reopenStore } from "./kept-runs.ts";

const id = Number(process.argv[3]);
process.chdir(process.argv[2]!);
process.setgroups!([]);
process.setgid!(id);
process.setuid!(id);
const { store } = reopenStore("runs");
store.add(keptRun());
await until(() => store.losses.failure !== null, "the failure is reported");
process.stdout.write(`${store.losses.failure}\n`);
await store.close();
