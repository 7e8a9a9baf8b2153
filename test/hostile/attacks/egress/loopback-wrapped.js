// Requests the service's machine by IPv6 addresses that contain IPv4 addresses.
// after: egress
// answers: 200 []
// leaves: nothing
return undenied(
  ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[::ffff:0:127.0.0.1]"].map(
    (host) => `http://${host}:${CANARY_PORT}/`,
  ),
);
