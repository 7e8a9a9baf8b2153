// Requests Node's internal modules in every way that once worked.
// answers: 200 []
// after: attempts
return through({
  linked: () => process._linkedBinding("spawn_sync"),
  realm: () => require("internal/bootstrap/realm"),
  loader: () => require("internal/modules/cjs/loader"),
  imported: () => import("node:internal/child_process"),
});
