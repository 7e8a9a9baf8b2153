import { serveLauncher } from "./serve-launcher.ts";

await serveLauncher();
