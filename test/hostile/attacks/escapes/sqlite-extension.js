// Writes native code and loads it as an SQLite extension, by the method and by the SQL function.
// answers: 200 []
// after: library
// after: attempts
const { DatabaseSync } = require("node:sqlite");
const memory = new DatabaseSync(":memory:", { allowExtension: true });
const library = writeLibrary("library.so");
return through({
  method: () => memory.loadExtension(library),
  sql: () => memory.exec(`SELECT load_extension('${library}')`),
});
