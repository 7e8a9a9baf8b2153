// Loads native code that it has written as an extension of SQLite, by the method and by the function of SQL.
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
