// Starts its answer with a head whose members have all wrong types.
// after: frames
// answers: 500 task_exited
forge(66, own, JSON.stringify({ status: "200", headers: [null, { length: 3 }, ["x"]] }));
return never;
