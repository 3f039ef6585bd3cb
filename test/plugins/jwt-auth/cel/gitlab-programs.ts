/** A claim as text, whether it is a text, a number, null or absent. */
const claim = (name: string) =>
  `('${name}' in claims && claims['${name}'] != null) ? string(claims['${name}']) : ""`

/** In the way of GitLab's program for the people of a project. */
export const people = {
  variables: {
    base: '"users"',
    project: '"3"',
    wanted_audience: '"secrets"',
    subject: claim('sub'),
    audience: "('aud' in claims) ? claims['aud'] : ''",
    kind: claim('secrets_manager_scope'),
    user: claim('user_id'),
    member_role: claim('member_role_id'),
    role: claim('role_id'),
    in_project: claim('project_id'),
    groups: "('groups' in claims) ? claims['groups'] : []",
    who: "user == '' ? 'gitlab-user:' : 'gitlab-user:' + user",
    seconds:
      "('token_ttl' in claims && claims['token_ttl'] != null && int(claims['token_ttl']) > 0) ? int(claims['token_ttl']) : 300",
    ttl_ns: 'seconds * 1000000000',
    coded: "'%x'.format([user])",
    never: "user == 'somebody else' ? hex(user) : ''",
  },
  expression: `subject == "" ? "missing subject" :
!subject.startsWith("user:") ? "invalid subject for user authentication" :
kind != "user" ? "invalid secrets_manager_scope" :
in_project != project ? "token project_id does not match role base" :
audience != wanted_audience ? "audience validation failed" :
pb.Auth{
  display_name: who,
  alias: logical.Alias{name: who},
  lease_options: pb.LeaseOptions{TTL: ttl_ns, MaxTTL: ttl_ns, issue_time: now},
  policies: (user != "" ? [base + "/direct/user_" + user] : [])
    + (member_role != "" ? [base + "/direct/member_role_" + member_role] : [])
    + (role != "" ? [base + "/roles/" + role] : [])
    + groups.map(g, base + "/direct/group_" + string(g)),
  metadata: {"project_id": in_project, "coded": coded}
}`,
}

/** In the way of its program for jobs. */
export const jobs = {
  variables: {
    project: claim('project_id'),
    branch: claim('ref'),
    protected: "('ref_protected' in claims) && claims['ref_protected'] == 'true'",
    environment: claim('environment'),
    code: "'%x'.format([environment])",
    who: "'pipeline:' + project",
  },
  expression: `project != "3" ? "pipeline of another project" :
pb.Auth{
  display_name: who,
  alias: logical.Alias{name: who},
  policies: ["pipelines/global"]
    + (environment != "" ? ["pipelines/env/" + code] : [])
    + (protected ? ["pipelines/protected"] : [])
    + [branch].filter(b, b != "").map(b, "pipelines/branch/" + "%x".format([b])),
  metadata: {"project_id": project}
}`,
}

/** In the way of its program for the API of groups: an undefined function in a branch that is never taken. */
export const api = {
  variables: {
    scope: claim('scope'),
    group: claim('group_path'),
    coded: 'scope == "legacy" ? hex(group) : "%x".format([group])',
  },
  expression:
    'scope != "api" ? "wrong scope" : pb.Auth{policies: ["groups/" + coded], alias: logical.Alias{name: "api"}}',
}
