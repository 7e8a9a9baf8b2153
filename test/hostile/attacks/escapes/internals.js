// Asks for Node's internal modules by every door that once led to them.
// answers: 200 []
// after: attempts
return through({
  linked: () => process._linkedBinding("spawn_sync"),
  realm: () => require("internal/bootstrap/realm"),
  loader: () => require("internal/modules/cjs/loader"),
  imported: () => import("node:internal/child_process"),
});
