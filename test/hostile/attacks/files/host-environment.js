// Searches the environment and the arguments for the service's secrets.
// answers: 200 []
// leaves: nothing
const { HOME, ...environment } = process.env;
const all = JSON.stringify([environment, process.argv, process.execArgv, process.title, process.config.variables]);
const found = all.match(/CANARY|CAISSON_|"HOME|"USER|eyJ\w+/g) ?? [];
return HOME === require("node:os").tmpdir() ? found : [...found, HOME];
