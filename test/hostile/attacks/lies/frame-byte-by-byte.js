// Sends an honest frame byte by byte, and a thousand more the same way.
// after: frames
// answers: 200 "slowly"
for (let n = 0; n < 200; n++) for (const byte of frameOf(72, own, "\x01x")) send(Buffer.of(byte));
for (const byte of frameOf(65, own, '"slowly"')) send(Buffer.of(byte));
return never;
