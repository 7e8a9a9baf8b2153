// Detaches the memory of Node's pool of small buffers, from which frames are made.
// answers: 200 "detached"
// answers: 500 task_threw
const { buffer } = Buffer.from("x");
buffer.transfer(0);
return "detached";
