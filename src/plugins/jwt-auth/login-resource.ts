import { z } from 'zod'
import { loginPlace, type Resource, resource } from '../../http/resource/resource.ts'
import { lowerStringField, stringField } from '../../lib/text/fields.ts'
import type { LoginReports } from './explain/login-reports.ts'
import { newAttempt } from './login/flow-trace.ts'
import type { IssueLogin } from './login/issue-login.ts'
import type { JwtMethod } from './method.ts'

const loginInput = z.object({
  role: lowerStringField.describe('Role to log in with; the configured default if empty'),
  jwt: stringField.meta({ description: 'Signed JWT', writeOnly: true }),
  distributed_claim_access_token: stringField.meta({
    description: 'Access token for a provider that keeps the groups elsewhere',
    writeOnly: true,
  }),
})

type Parts = { readonly method: JwtMethod; readonly issue: IssueLogin; readonly reports: LoginReports }

/** `login`. docs/contract/jwt.md */
export const loginResource = ({ method, issue, reports }: Parts): Resource =>
  resource('/login', {
    help: 'Log in with a signed JWT.',
    open: true,
    wrapsWithoutToken: true,
    namesRequest: true,
    write: {
      summary: 'Log in with a JWT',
      required: ['jwt'],
      form: 'auth',
      input: loginInput,
      handle: ({ call, mount, input }) =>
        reports.watch(
          { call, mount, path: 'login', attempt: newAttempt({ role: input.role, token: input.jwt }) },
          async () => {
            const auth = await method.login(mount, call.remoteAddress, input)
            return { reply: await issue({ ...loginPlace(mount, call), auth }) }
          },
        ),
    },
  })
