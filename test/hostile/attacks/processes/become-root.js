// Changes its user, its group and all its groups.
// answers: 200 []
// after: attempts
return through({
  user: () => process.setuid(0),
  effective: () => process.seteuid(0),
  group: () => process.setgid(0),
  groups: () => process.setgroups([0]),
  init: () => process.initgroups("root", 0),
  effectiveGroup: () => process.setegid(0),
});
