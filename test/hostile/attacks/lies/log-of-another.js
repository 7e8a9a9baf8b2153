// Logs with the ids of other runs, at unknown levels.
// after: frames
// answers: 200 "logged"
for (let turn = 0; turn < 1_000; turn++) forge(72, turn, "\xffforged");
return "logged";
