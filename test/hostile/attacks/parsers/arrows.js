// Nests arrow functions in their own defaults, which a parser recognizes only afterwards.
// submits: its value
// answers: 200 1
// answers: 500 task_blocked
"(a=".repeat(30) + "1" + ")=>1".repeat(30) + " //" + "(".repeat(200_000)
