// Reads the system's host name, network interfaces and users.
// answers: 200 {"hostname":"task","interfaces":[],"users":false}
// The host's name is visible, because the guest has no separate UTS namespace.
// answers under confined: 200 /^\{"hostname":"[^"]*","interfaces":\[\],"users":false\}$/
// leaves: nothing
const os = require("node:os");
const tried = (ask) => {
  try {
    return ask();
  } catch {
    return [];
  }
};
const interfaces = Object.keys(tried(os.networkInterfaces)).filter((name) => name !== "lo");
const { username = "" } = tried(os.userInfo);
return { hostname: os.hostname(), interfaces, users: /root|[a-z]{3}/.test(username) };
