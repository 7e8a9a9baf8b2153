// Requests the service's machine by all its names and addresses.
// after: egress
// answers: 200 []
// leaves: nothing
return undenied(
  ["127.0.0.1", "127.1", "127.255.255.254", "0.0.0.0", "0", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "127.0.0.1.", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]"].map(
    (host) => `http://${host}:${CANARY_PORT}/`,
  ),
);
