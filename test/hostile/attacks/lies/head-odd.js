// Begins its answer with a head whose parts are of every type but the right one.
// after: frames
// answers: 500 task_exited
forge(66, own, JSON.stringify({ status: "200", headers: [null, { length: 3 }, ["x"]] }));
return never;
