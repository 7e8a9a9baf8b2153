// Replaces the functions with which Node finds, compiles and loads modules.
// answers: 200 "replaced"
const Module = require("node:module");
Module._load = Module._resolveFilename = Module._findPath = Module.prototype._compile = () => "hijacked";
Module._extensions[".js"] = Module._extensions[".json"] = () => "hijacked";
Module._pathCache = Module._cache = new Proxy({}, { get: () => "hijacked" });
return "replaced";
