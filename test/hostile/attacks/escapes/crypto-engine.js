// Writes native code and loads it as an OpenSSL engine.
// answers: 200 []
// after: library
// after: attempts
const { setEngine, constants } = require("node:crypto");
const library = writeLibrary("engine.so");
return through({
  all: () => setEngine(library),
  methods: () => setEngine(library, constants.ENGINE_METHOD_RAND),
});
