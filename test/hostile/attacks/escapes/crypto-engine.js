// Loads native code that it has written as an engine of OpenSSL.
// answers: 200 []
// after: library
// after: attempts
const { setEngine, constants } = require("node:crypto");
const library = writeLibrary("engine.so");
return through({
  all: () => setEngine(library),
  methods: () => setEngine(library, constants.ENGINE_METHOD_RAND),
});
