import { sendSuccessfully } from '../simulators/operator.ts'
import { type BenchCase, type BenchSetup, bareRequests, usualConnections } from './bench-case.ts'
import { manyPolicies, manyPolicyNames } from './many-policies.ts'
import { logIn, signLogins } from './pipeline-logins.ts'

const tokens = 64
const policies = 1000
const groups = 50
const groupsOfOne = 5

/** `lookup-self` of several tokens in turn, against a bare route. */
export async function lookupSelfCases({ url, issuer }: BenchSetup): Promise<BenchCase[]> {
  return [lookupSelf('lookup-self', await tokensOf(url, issuer))]
}

/**
 * The same with many policies and groups in the store, for tokens whose entities are in some of the groups.
 */
export async function lookupSelfInGroupsCases({ url, rootToken, issuer }: BenchSetup): Promise<BenchCase[]> {
  const write = (path: string, body: unknown) =>
    sendSuccessfully(url, { method: 'POST', path, token: rootToken, body })
  const members = await tokensOf(url, issuer)
  const entities = await Promise.all(members.map((token) => entityOf(url, token)))
  for (const { name, text } of manyPolicies(policies))
    await write(`sys/policies/acl/${name}`, { policy: text })
  const names = manyPolicyNames(policies)
  for (let group = 0; group < groups; group++) {
    const share = names.filter((_, index) => index % groups === group)
    const inIt = entities.filter((_, index) => (index + groups - group) % groups < groupsOfOne)
    await write('identity/group', { name: `bench-${group}`, policies: share, member_entity_ids: inIt })
  }
  return [lookupSelf(`lookup-self, ${groups} groups, ${policies} policies`, members)]
}

const lookupSelf = (name: string, members: readonly string[]): BenchCase => ({
  name,
  connections: usualConnections,
  ours: { method: 'GET', path: '/v1/auth/token/lookup-self', variants: members.map((token) => ({ token })) },
  against: { contender: 'bare', requests: bareRequests },
  aim: 0.21,
})

async function tokensOf(url: string, issuer: BenchSetup['issuer']): Promise<string[]> {
  return logIn(
    url,
    await signLogins(issuer, {
      algorithm: 'ES256',
      count: tokens,
      subject: (index) => `repo:acme/lookup-${index}`,
    }),
  )
}

async function entityOf(url: string, token: string): Promise<string> {
  const { body } = await sendSuccessfully(url, { method: 'GET', path: 'auth/token/lookup-self', token })
  const data = body?.data
  const id = typeof data === 'object' && data !== null && 'entity_id' in data ? data.entity_id : undefined
  if (typeof id !== 'string') throw new Error('a token has no entity')
  return id
}
