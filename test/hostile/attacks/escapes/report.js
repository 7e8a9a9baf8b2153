// Writes a diagnostic report over the guest's program, and reads facts about the host from a report.
// answers: 200 /^\{"written":false/
const written = (() => {
  try {
    process.report.directory = "/guest";
    return process.report.writeReport("main.js") !== "" && require("node:fs").existsSync("/guest/main.js");
  } catch {
    return false;
  }
})();
const { header, environmentVariables } = process.report.getReport();
return { written, host: header.host, cwd: header.cwd, environmentVariables };
