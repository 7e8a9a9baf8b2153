// Makes a cluster start workers.
// answers: 500 task_threw EPERM
const cluster = require("node:cluster");
cluster.setupPrimary({ exec: "/guest/guest/main.js" });
return new Promise((resolve, reject) => {
  cluster.fork().on("error", reject).on("online", resolve);
});
