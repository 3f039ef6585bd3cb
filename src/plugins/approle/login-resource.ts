import { z } from 'zod'
import type { LoginReports } from '../../core/tokens/acts/login-reports.ts'
import { loginPlace, type Resource, resource } from '../../http/resource/resource.ts'
import { stringField } from '../../lib/text/fields.ts'
import type { ApproleMethod } from './method.ts'

const loginInput = z.object({
  role_id: stringField.describe('The id of the role'),
  secret_id: stringField.meta({
    description: 'A secret id of the role, unless the role needs none',
    writeOnly: true,
  }),
})

export type LoginResourceParts = { readonly method: ApproleMethod; readonly reports: LoginReports }

/** `login`. docs/contract/approle.md#login-in-this-order */
export const loginResource = ({ method, reports }: LoginResourceParts): Resource =>
  resource('/login', {
    help: 'Log in with a role id and a secret id.',
    open: true,
    wrapsWithoutToken: true,
    namesRequest: true,
    write: {
      summary: 'Log in with a role id and a secret id',
      required: ['role_id'],
      form: 'auth',
      input: loginInput,
      handle: ({ call, mount, input }) => {
        let role = ''
        return reports.watch({ call, mount, who: () => ({ role }) }, () =>
          method.login(loginPlace(mount, call), {
            roleId: input.role_id,
            secretId: input.secret_id,
            onRole: (name) => {
              role = name
            },
          }),
        )
      },
    },
  })
