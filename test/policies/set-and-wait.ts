import { SqlitePolicyStore } from "../../src/policies/stores/sqlite.ts";

const [file, container] = process.argv.slice(2);
await SqlitePolicyStore.open(file!).change(container!, (before) => ({ ...before, limits: { day: 7 } }), "me");
process.stdout.write("set\n");
// Keeps the process, with the database open, until it is killed.
process.stdin.resume();
