// Asks for the service's own machine by addresses of IPv6 that hold one of IPv4.
// after: egress
// answers: 200 []
return undenied(
  ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[::ffff:0:127.0.0.1]"].map(
    (host) => `http://${host}:${CANARY_PORT}/`,
  ),
);
