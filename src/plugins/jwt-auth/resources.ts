import type { LoginPlan, LoginRequest } from '../../core/tokens/acts/issue-login.ts'
import type { Resource } from '../../http/resource/resource.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import { configResources } from './config-resources.ts'
import { LoginReports, type LoginReportsParts } from './explain/login-reports.ts'
import { explainResources } from './explain-resources.ts'
import type { IssueLogin } from './login/issue-login.ts'
import { loginResource } from './login-resource.ts'
import type { JwtMethod } from './method.ts'
import { oidcResources } from './oidc-resources.ts'

export type JwtAuthParts = {
  readonly method: JwtMethod
  readonly issue: IssueLogin
  /** What `issue` would do, without writing anything. */
  plan(request: LoginRequest): Promise<LoginPlan>
  policyExists(name: string, namespace: string): Promise<boolean>
  readonly reports: LoginReportsParts['basic']
  readonly log: { readonly warn: LogLine; readonly error: LogLine }
}

/** The JWT and OpenID Connect method, `auth/<mount>/*`. docs/contract/jwt.md */
export function jwtAuthResources(parts: JwtAuthParts): Resource[] {
  const { method, issue, log } = parts
  const reportedMount = method.reportedMount.bind(method)
  const reports = new LoginReports({ reportedMount, log, basic: parts.reports })
  return [
    ...configResources(parts),
    loginResource({ method, issue, reports }),
    ...oidcResources({ method, issue, reports }),
    ...explainResources(parts),
  ]
}
