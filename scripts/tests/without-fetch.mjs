// For the processes of tests: an import of `node:http` reads all its members, and three of them load Node's implementation
// of fetch, which takes as much time as the start of Node. Tests that use fetch or a WebSocket find them as globals.
const http = process.getBuiltinModule("node:http");
for (const name of ["WebSocket", "CloseEvent", "MessageEvent"]) delete http[name];
