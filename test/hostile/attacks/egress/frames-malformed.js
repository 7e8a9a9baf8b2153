// Opens connections to invalid hosts and invalid ports.
// after: egress
// answers: 500 task_exited
sendFrames(openFrame(1_000, { host: ["127.0.0.1"], port: "80", address: {} }));
return new Promise(() => {});
