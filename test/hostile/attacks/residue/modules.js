// Changes built-in modules for the next container.
// answers: 200 "changed"
require("node:fs").readdirSync = () => ["left"];
require("node:crypto").randomUUID = () => "left";
require("node:module").syncBuiltinESMExports();
return "changed";
// then, in another container
// answers: 200 [false,[]]
const { randomUUID } = await import("node:crypto");
return [randomUUID() === "left", require("node:fs").readdirSync("/tmp")];
