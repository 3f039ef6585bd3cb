import { identityTokenUse } from '../config/effective-settings.ts'
import { credentialTypeOf } from '../federation/federated-role.ts'
import { trustName } from '../federation/trust.ts'
import type { NamedRole } from '../mount-state.ts'
import type { FederatedCredential } from '../upstream/directory/directory-answers.ts'
import { mostTrusts } from '../upstream/index.ts'
import { unlessGone } from '../upstream/removal.ts'
import { forEachOf } from '../upstream-work.ts'
import { type Finding, maxLookups, type PreflightContext } from './preflight-context.ts'

/** Undefined if the engine keeps no trust for a role. docs/contract/cloud.md#preflight */
export function trustsCheck(
  roles: readonly NamedRole[],
  context: PreflightContext,
): (() => Promise<Finding>) | undefined {
  const federated = roles.filter(
    ({ role }) => credentialTypeOf(role) === 'federated' && role.application_object_id !== '',
  )
  return federated.length === 0 ? undefined : () => checkTrusts(federated, context)
}

/** Whether the applications trust the tokens that the roles have now, and how many trusts they have. */
async function checkTrusts(roles: readonly NamedRole[], context: PreflightContext): Promise<Finding> {
  const { upstream, call, state, mount, mountTokens } = context
  const ids = [...new Set(roles.map(({ role }) => role.application_object_id))].slice(0, maxLookups)
  const trusts = new Map<string, readonly FederatedCredential[] | undefined>()
  await forEachOf(ids, async (id) => {
    trusts.set(id, await unlessGone(upstream.directory.listFederatedCredentials(id, call)))
  })
  const { audience } = identityTokenUse(await state.findConfig(), state.operator)
  const problems: string[] = []
  for (const { name, role } of roles) {
    const id = role.application_object_id
    if (!trusts.has(id)) continue
    const { issuer, subject } = await mountTokens.identityOf({ mount, role: name })
    const found = trusts.get(id)
    const own = found?.find((one) => one.name === trustName(state.accessor, name))
    // the cloud compares exactly
    const isRight =
      own?.issuer === issuer && own.subject === subject && own.audiences.some((one) => one === audience)
    if (found === undefined) problems.push(`role ${name}: its application ${id} no longer exists`)
    else if (own === undefined) problems.push(`role ${name}: application ${id} has no trust for it`)
    else if (!isRight) problems.push(`role ${name}: the trust of application ${id} is for other tokens`)
  }
  const counts = [...trusts].map(([id, found = []]) => ({ id, count: found.length }))
  const most = counts.reduce((one, other) => (other.count > one.count ? other : one), { id: '', count: 0 })
  const detail = `application ${most.id} has ${most.count} of ${mostTrusts} trusts, and no other has more`
  const isFull = most.count > mostTrusts || (problems.length > 0 && most.count >= mostTrusts)
  return {
    ok: problems.length === 0 && !isFull,
    detail: [...problems, detail].join('; '),
    fix: [
      ...(isFull
        ? ['remove trusts that nobody needs: az ad app federated-credential list, then delete']
        : []),
      ...(problems.length > 0 ? ['write the roles again, which repairs their trusts'] : []),
    ].join('; '),
  }
}
