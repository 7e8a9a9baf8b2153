// Opens connections by forged frames, past the checks of the guest.
// after: egress
// answers: 200 "sent"
["127.0.0.1", "localhost", "::1", "0", "2130706433", "::ffff:127.0.0.1", "127.0.0.1\0.example.com", "user@127.0.0.1", "[::1]", " 127.0.0.1"].forEach((host, index) => {
  sendFrames(openFrame(1_000 + index, { host, port: CANARY_PORT }));
});
await new Promise((resolve) => setTimeout(resolve, 200));
return "sent";
