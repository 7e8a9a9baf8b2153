// Forges frames in which an allowed name has an address of the service's machine, and the other way round.
// after: egress
// answers: 200 "sent"
sendFrames(openFrame(1_000, { host: "example.com", port: CANARY_PORT, address: "127.0.0.1" }));
sendFrames(openFrame(1_001, { host: "127.0.0.1", port: CANARY_PORT, address: "1.1.1.1" }));
sendFrames(openFrame(1_002, { host: "example.com", port: CANARY_PORT, address: "::ffff:127.0.0.1" }));
await new Promise((resolve) => setTimeout(resolve, 200));
return "sent";
