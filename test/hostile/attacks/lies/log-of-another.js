// Logs in the name of runs that are not its own, at levels that there are not.
// after: frames
// answers: 200 "logged"
for (let turn = 0; turn < 1_000; turn++) forge(72, turn, "\xffforged");
return "logged";
