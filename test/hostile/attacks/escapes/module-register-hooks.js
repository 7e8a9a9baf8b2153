// Puts hooks of its own in front of the harness's, so that later code is read through them.
// answers: 200 "registered"
const { registerHooks } = require("node:module");
registerHooks({
  resolve: () => ({ url: "data:text/javascript,export default 'hijacked'", shortCircuit: true }),
  load: () => ({ format: "module", source: "export default 'hijacked'", shortCircuit: true }),
});
return "registered";
