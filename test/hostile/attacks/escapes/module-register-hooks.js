// Installs hooks before the harness's hooks, so that later code is loaded through them.
// answers: 200 "registered"
const { registerHooks } = require("node:module");
registerHooks({
  resolve: () => ({ url: "data:text/javascript,export default 'hijacked'", shortCircuit: true }),
  load: () => ({ format: "module", source: "export default 'hijacked'", shortCircuit: true }),
});
return "registered";
