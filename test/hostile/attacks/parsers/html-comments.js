// Hides the end of the wrapper in comments that only browsers support.
// answers: 200 null
// answers: 400 code_syntax
<!-- } ); process.exit() ; ( async function () {
--> } )
