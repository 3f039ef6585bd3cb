import { z } from 'zod'
import type { Core } from '../../core/open/core.ts'
import type { Acl } from '../../core/policies/acl.ts'
import { usesFindings } from '../../core/tokens/store/token-type.ts'
import { mayReach, type Resource, resource } from '../../http/resource/resource.ts'
import { pagesOf } from '../../lib/data/pages.ts'
import { lowerStringField } from '../../lib/text/fields.ts'
import { excerpt } from '../../lib/text/go-text.ts'
import { answers } from './answers.ts'
import type { ApproleMethod } from './method.ts'
import { canonicalRolePath } from './role.ts'

type LintParts = Pick<Core, 'policies' | 'clock'> & { readonly method: ApproleMethod }

/** What one policy grants. */
type Granted = { readonly policy: string; readonly acl: Acl }

const lintInput = z.object({ role: lowerStringField.describe('Only this role') })

/** `lint`. docs/contract/approle.md#lint */
export const lintResource = ({ method, policies, clock }: LintParts): Resource =>
  resource('/lint', {
    help: 'Settings that are valid but probably not intended.',
    read: {
      summary: 'Look for mistakes in roles',
      ...answers.findings,
      input: lintInput,
      handle: async (exchange) => {
        const { mount, input } = exchange
        const grants: Granted[] = []
        for (const policy of await policies.list(mount.namespace)) {
          const acl = await policies.aclFor(mount.namespace, [policy], { now: clock.now() })
          if (policy !== 'root' && acl.mountAccess(mount.path)) grants.push({ policy, acl })
        }
        const findings: object[] = []
        for await (const page of pagesOf(await method.rolesOf(mount).names())) {
          for (const role of page) {
            const path = `role/${role}`
            if (input.role !== '' && input.role !== role) continue
            if (!mayReach(exchange, { operation: 'read', path, canonical: canonicalRolePath })) continue
            const makers = grants.filter(({ acl }) => makesSecretIds(acl, mount.path + path))
            if (makers.length > 0) findings.push(finding(role, makers))
            const { record } = (await method.rolesOf(mount).find(role)) ?? {}
            const unkept = record === undefined ? [] : usesFindings(mount.config.token_type, record)
            findings.push(...unkept.map((found) => ({ role, ...found })))
          }
        }
        return { data: { findings } }
      },
    },
  })

const makesSecretIds = (acl: Acl, path: string): boolean =>
  ['secret-id', 'custom-secret-id'].some((last) =>
    acl
      .capabilities(`${path}/${last}`)
      .some((capability) => capability === 'create' || capability === 'update'),
  )

const finding = (role: string, makers: readonly Granted[]) => ({
  role,
  code: 'login_metadata_writable',
  field: 'metadata',
  text: `policies [${excerpt(makers.map(({ policy }) => policy).join(' '))}] may make secret ids, and so choose the metadata of their logins`,
})
