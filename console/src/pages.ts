import type { ComponentType } from "preact";

import { can, isAdmin } from "./session.ts";

/** A page of the navigation. */
export interface Page {
  readonly id: string;
  readonly title: string;
  /** Whether the token that is signed in can use the page. */
  readonly isFor: () => boolean;
  readonly load: () => Promise<{ default: ComponentType }>;
}

const PAGES: readonly Page[] = [
  { id: "overview", title: "Overview", isFor: () => true, load: () => import("./pages/overview.tsx") },
  { id: "playground", title: "Playground", isFor: () => can("run"), load: () => import("./pages/playground.tsx") },
  { id: "containers", title: "Containers", isFor: () => true, load: () => import("./pages/containers.tsx") },
  { id: "tasks", title: "Tasks", isFor: () => can("tasks"), load: () => import("./pages/tasks.tsx") },
  { id: "runs", title: "Runs", isFor: () => can("logs"), load: () => import("./pages/runs.tsx") },
  { id: "errors", title: "Errors", isFor: () => can("logs"), load: () => import("./pages/errors.tsx") },
  { id: "tokens", title: "Tokens", isFor: () => can("issue"), load: () => import("./pages/tokens.tsx") },
  { id: "usage", title: "Usage", isFor: () => can("logs"), load: () => import("./pages/usage.tsx") },
  {
    id: "packages",
    title: "Packages",
    isFor: () => can("tasks"),
    load: () => import("./pages/packages.tsx"),
  },
  { id: "system", title: "System", isFor: () => isAdmin.value, load: () => import("./pages/system.tsx") },
];

/** Returns the pages that the token can use, in the order of the navigation. */
export function pagesOf(): readonly Page[] {
  return PAGES.filter(({ isFor }) => isFor());
}
