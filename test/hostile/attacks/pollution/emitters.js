// Replaces the functions that emit events, including those of the socket on which runs arrive.
// answers: 200 "replaced"
const Emitter = require("node:events");
Emitter.prototype.emit = Emitter.prototype.on = Emitter.prototype.addListener = () => true;
Emitter.prototype.listenerCount = () => 0;
return "replaced";
