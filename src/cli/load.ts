import { flushCompileCache } from "node:module";

/**
 * Waits for modules that one command needs and others do without: most of what a command line takes is to load them.
 *
 * @returns the modules, whose compiled form is kept from now on: at its end the process may be of a user who may not write it.
 */
export async function load<T>(modules: Promise<T>): Promise<T> {
  const loaded = await modules;
  flushCompileCache();
  return loaded;
}
