// Starts a frame and never ends it, so that all later bytes become a part of it.
// after: frames
// answers: 500 task_exited
// answers: 500 task_blocked
const frame = frameOf(65, own, "x".repeat(1_000));
send(frame.subarray(0, 100));
return never;
