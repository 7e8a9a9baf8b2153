// Changes the defaults of all property descriptors by the prototype.
// answers: 200 "described"
Object.prototype.get = Object.prototype.set = () => "hijacked";
return "described";
