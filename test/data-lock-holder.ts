/** Locks the data folder that it is given and says so, then holds it until it is killed; or says why it cannot. */
import { lockDataFolder } from "../src/data-lock.ts";

try {
  lockDataFolder(process.argv[2]!);
  process.stdout.write("held\n");
  setInterval(() => {}, 60_000);
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n`);
}
