// Returns a value that nests deeper than any stack.
// answers: 500 result_unserializable
// answers: 500 task_threw
let deep = [];
for (let n = 0; n < 200_000; n++) deep = [deep];
return deep;
