// Replaces the functions that compile texts.
// answers: 200 "replaced"
const vm = require("node:vm");
vm.compileFunction = vm.runInThisContext = vm.Script = () => () => "hijacked";
vm.constants = null;
require("node:module").stripTypeScriptTypes = () => "hijacked";
(async () => {}).constructor.prototype.constructor = () => "hijacked";
return "replaced";
