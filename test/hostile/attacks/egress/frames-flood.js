// Opens ten thousand connections at once.
// after: egress
// answers: 200 "sent"
// answers: 500 task_exited
for (let stream = 1_000; stream < 11_000; stream += 100) {
  sendFrames(...Array.from({ length: 100 }, (_, n) => openFrame(stream + n, { host: "127.0.0.1", port: CANARY_PORT })));
}
return "sent";
