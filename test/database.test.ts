import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { it } from "node:test";

import { type Database, type DatabaseDefinition, openDatabase } from "../src/database.ts";

type Statement = "add" | "all";
const DEFINITION: DatabaseDefinition<Statement> = {
  version: 1,
  content: "the names",
  remedy: "restore them from a backup",
  schema: "CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY) STRICT",
  statements: { add: "INSERT INTO names (name) VALUES (?)", all: "SELECT name FROM names ORDER BY name" },
};

const open = (file: string): Database<Statement> => openDatabase(file, DEFINITION, (database) => database);
const namesIn = ({ statements }: Database<Statement>): unknown[] => statements.all.all().map(({ name }) => name);
const newFile = async (): Promise<string> => path.join(await mkdtemp(path.join(tmpdir(), "database-")), "names.db");

it("a database and the other files of SQLite are readable only for their owner", async () => {
  const file = await newFile();
  const database = open(file);
  database.statements.add.run("a");
  for (const name of [file, `${file}-wal`, `${file}-shm`]) assert.equal(statSync(name).mode & 0o777, 0o600, name);
  database.close();
});

it("a change that throws, or that its commit rule rejects, is rolled back, and the next change is committed", async () => {
  const database = open(await newFile());
  const add = (name: string): void => void database.statements.add.run(name);
  assert.throws(() => database.transaction(() => [add("a"), assert.fail("stop")]), /stop/);
  const outcome = database.transaction(
    () => (add("b"), "rejected"),
    (result) => result === "committed",
  );
  assert.equal(outcome, "rejected");
  database.transaction(() => add("c"));
  assert.deepEqual(namesIn(database), ["c"]);
  database.close();
});

it("another process sees a change only after it is committed", async () => {
  const file = await newFile();
  const [writer, reader] = [open(file), open(file)];
  writer.transaction(() => {
    writer.statements.add.run("a");
    assert.deepEqual(namesIn(reader), []);
    writer.statements.add.run("b");
  });
  assert.deepEqual(namesIn(reader), ["a", "b"]);
  writer.close();
  reader.close();
});

it("a file that is not a database is reported with its content, its path and a remedy, and is not changed", async () => {
  const file = await newFile();
  writeFileSync(file, "no database".repeat(100));
  assert.throws(() => open(file), {
    message: `the names in ${file} cannot be used: file is not a database; restore them from a backup`,
  });
  assert.equal(statSync(file).size, 1_100);
});

it("a store that cannot be loaded closes its database, so that another process can change it", async () => {
  const file = await newFile();
  assert.throws(
    () => openDatabase(file, DEFINITION, () => assert.fail("bad row")),
    /the names in .*: bad row; restore/,
  );
  const database = open(file);
  database.transaction(() => database.statements.add.run("a"));
  assert.deepEqual(namesIn(database), ["a"]);
  database.close();
});
