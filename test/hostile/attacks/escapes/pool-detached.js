// Detaches the memory that Node cuts its small buffers from, which frames are made of.
// answers: 200 "detached"
// answers: 500 task_threw
const { buffer } = Buffer.from("x");
buffer.transfer(0);
return "detached";
