import type { TaskPackages } from "../../src/tasks/task-packages.ts";

/** The packages for tests of tasks that import none. */
export const NO_PACKAGES: TaskPackages = {
  permits: { require: () => {}, namedInTurns: () => null },
  lockOf: () => Promise.reject(new Error("this test builds no packages")),
  pin: async () => {},
};
