/**
 * Locks the data folder of its argument, writes `held`, and holds the lock until it is killed. Otherwise it writes the
 * error.
 */
import { lockDataFolder } from "../src/data-lock.ts";

try {
  lockDataFolder(process.argv[2]!);
  process.stdout.write("held\n");
  setInterval(() => {}, 60_000);
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n`);
}
