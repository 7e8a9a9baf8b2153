// Makes every description of a property that anybody writes a wrong one.
// answers: 200 "described"
Object.prototype.get = Object.prototype.set = () => "hijacked";
return "described";
