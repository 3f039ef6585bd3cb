import type { LoginAuth } from '../../core/tokens/acts/issue-login.ts'
import { boundCidrs, loginTerms } from '../../core/tokens/store/token-fields.ts'
import { refuse } from '../../errors.ts'
import { addressMatches } from '../../lib/net/cidr.ts'
import { checkSubset } from './cidr-blocks.ts'
import type { Role } from './role.ts'
import type { SecretId } from './secret-id.ts'

/** Why a pair is wrong, for the operator. */
const wrongPairCauses = {
  role_unknown: 'no role of this mount has this role id',
  secret_id_unknown: 'the role has no such secret id: it is wrong, used up, destroyed or of another role',
  secret_id_ended: 'the secret id has expired',
} as const

/** One text for every wrong pair: it does not tell which of the two is wrong. */
export const wrongPair = (why: keyof typeof wrongPairCauses) =>
  refuse('invalid', 'invalid role or secret ID', {
    reason: why === 'secret_id_ended' ? 'secret_id_unknown' : why,
    operatorText: wrongPairCauses[why],
  })

/** The checks of a login, in order. docs/contract/approle.md#why-a-login-was-refused */
export const loginChecks = ['lockout', 'role', 'secret_id', 'address', 'uses'] as const

/** Throws `invalid` if a login from this address is refused. docs/contract/approle.md#login-in-this-order */
export function checkAddress({ record }: Role, secretId: SecretId | undefined, address: string): void {
  const ofRole = record.secret_id_bound_cidrs ?? []
  if (secretId !== undefined) {
    // the role may have been narrowed since
    checkSubset(secretId.cidr_list, ofRole)
    if (!addressMatches(secretId.cidr_list, address)) {
      const how = secretId.num_uses === 0 ? 'through' : 'by'
      throw unauthorized(address, `${how} CIDR restrictions on the secret ID`)
    }
  }
  const own = secretId?.token_bound_cidrs ?? []
  if (record.token_strictly_bind_ip === true && !addressMatches(own, address))
    throw unauthorized(address, 'by CIDR restrictions on tokens of the secret ID')
  if (!addressMatches(ofRole, address)) throw unauthorized(address, 'by CIDR restrictions on the role')
}

const unauthorized = (address: string, how: string) =>
  refuse('invalid', `source address "${address}" unauthorized ${how}`, { reason: 'address_not_bound' })

/** What a login with the role grants. */
export function grantOf({ name, record }: Role, secretId: SecretId | undefined): LoginAuth {
  const metadata = { ...secretId?.metadata, role_name: name }
  const terms = loginTerms(record)
  const own = secretId?.token_bound_cidrs ?? []
  return {
    alias: { name: record.role_id, metadata },
    displayName: '',
    groupNames: [],
    ...terms,
    boundCidrs: own.length > 0 ? boundCidrs(own) : terms.boundCidrs,
    internal: { role: name },
  }
}
