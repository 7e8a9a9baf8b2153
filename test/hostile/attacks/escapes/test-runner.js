// Makes Node's own test runner start processes.
// answers: 200 /^"(stopped|no events)/
const stream = require("node:test").run({ files: ["/guest/guest/main.js"], isolation: "process" });
return new Promise((resolve) => {
  stream.on("error", () => resolve("stopped"));
  stream.on("test:stdout", (event) => resolve(event.message));
  stream.on("test:fail", () => resolve("stopped"));
  stream.on("end", () => resolve("no events"));
  stream.resume();
});
