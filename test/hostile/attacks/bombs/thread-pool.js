// Fills Node's thread pool with work of hours, and answers.
// answers: 200 "went on"
const { pbkdf2 } = require("node:crypto");
for (let n = 0; n < 64; n++) pbkdf2("x", "y", 2 ** 31 - 1, 64, "sha512", () => {});
return "went on";
