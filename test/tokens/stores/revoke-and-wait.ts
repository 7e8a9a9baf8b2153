import { SqliteTokenStore } from "../../../src/tokens/stores/sqlite.ts";

const [file, jti] = process.argv.slice(2);
const registry = SqliteTokenStore.open(file!, 0);
await registry.revoke(jti!, "me", 0);
process.stdout.write("revoked\n");
// The timer keeps the process alive with the database open, until a test kills it.
process.stdin.resume();
