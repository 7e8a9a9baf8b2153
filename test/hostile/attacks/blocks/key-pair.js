// Generates primes of an unusual size.
// answers: 500 task_blocked
// answers: 500 task_threw
for (;;) require("node:crypto").generateKeyPairSync("rsa", { modulusLength: 8_192 });
