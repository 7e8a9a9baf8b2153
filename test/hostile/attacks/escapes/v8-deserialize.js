// Passes forged data to V8's deserializer.
// answers: 200 "refused"
// leaves: nothing
const v8 = require("node:v8");
for (const bytes of [[255, 15, 92], [255, 15, 65, 255, 255, 255, 255, 15], [255, 15, 66, 255, 255, 255, 7], [255, 13, 111, 94, 0]]) {
  try {
    v8.deserialize(Buffer.from(bytes));
  } catch {}
}
return "refused";
