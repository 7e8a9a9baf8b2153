// Requests addresses of private networks.
// after: egress
// answers: 200 []
// leaves: nothing
return undenied(
  ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.1.1", "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "[fc00::1]", "[fd00::1]", "[fe80::1]", "[ff02::1]"].map(
    (host) => `http://${host}/`,
  ),
);
