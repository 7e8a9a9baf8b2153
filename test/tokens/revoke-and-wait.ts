import { Registry } from "../../src/tokens/registry.ts";

const [file, jti] = process.argv.slice(2);
const registry = Registry.open(file!, 0);
registry.revoke(jti!, "me", 0);
process.stdout.write("revoked\n");
// Keeps the process, with the database open, until it is killed.
process.stdin.resume();
