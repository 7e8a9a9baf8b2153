// Searches the environment and the arguments for the service's secrets.
// answers: 200 []
const all = JSON.stringify([process.env, process.argv, process.execArgv, process.title, process.config.variables]);
return all.match(/CANARY|CAISSON_|"HOME|"USER|eyJ\w+/g) ?? [];
