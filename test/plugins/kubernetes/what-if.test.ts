import { expect, test } from 'vitest'
import { shared } from '../../support/shared.ts'
import { checksOf, reportOf } from '../jwt-auth/what-if/report.ts'
import { names, namespaces, type PodMount, selector, startPods } from './pods.ts'

const pods = shared(() => startPods())

/** A mount with the role `r`, with which `dev/web` has logged in. */
async function usedMount(fields: object = {}): Promise<PodMount> {
  const { mount } = await pods()
  const at = await mount()
  await at.role('r', fields)
  const login = await at.login()
  if (login.status !== 200) throw new Error(login.text)
  return at
}

test.each([
  { name: 'the same', change: {}, found: { succeed: 1 } },
  { name: 'another name', change: { [names]: ['api'] }, found: { lose: 1 }, check: 'service_account_name' },
  { name: 'one more name', change: { [names]: ['api', 'web'] }, found: { succeed: 1 } },
  { name: 'any name', change: { [names]: ['*'] }, found: { succeed: 1 } },
  { name: 'a pattern for a name that the role has', change: { [names]: ['w*'] }, found: { succeed: 1 } },
  { name: 'another namespace', change: { [namespaces]: ['prod'] }, found: { lose: 1 }, check: 'namespace' },
  {
    name: 'another namespace, or labels',
    change: { [namespaces]: ['prod'], [selector]: '{"matchLabels":{"a":"b"}}' },
    found: { unknown: 1 },
  },
  {
    name: 'a narrower pattern',
    fields: { [namespaces]: ['d*'] },
    change: { [namespaces]: ['de*'] },
    found: { unknown: 1 },
  },
  {
    name: 'a wider pattern',
    fields: { [namespaces]: ['de*'] },
    change: { [namespaces]: ['d*'] },
    found: { succeed: 1 },
  },
  { name: 'another audience', change: { audience: 'elsewhere' }, found: { lose: 1 }, check: 'audience' },
  { name: 'no audience', change: { audience: '' }, found: { succeed: 1 } },
  {
    name: 'another network',
    change: { token_bound_cidrs: '10.0.0.0/8' },
    found: { lose: 1 },
    check: 'address',
  },
  { name: 'the policy root', change: { token_policies: 'root' }, found: { lose: 1 }, check: 'policies' },
])(
  'a remembered login of a pod is tried with the role as it would be: $name',
  async ({ fields = {}, change, found, check }) => {
    const at = await usedMount(fields)

    const answer = await at.root.write(`${at.path}/role/r/what-if`, change)

    expect(reportOf(answer)).toMatchObject({ subjects: 1, ...found })
    expect(checksOf(answer)).toEqual(check === undefined ? [] : [check])
    await at.role('r', { ...fields, ...change })
    const login = await at.login()
    if (!('unknown' in found)) expect(login.status === 200 ? 'succeed' : 'lose').toBe(Object.keys(found)[0])
  },
)

test('the report has what the refusing check compares, and whom else the role would let in', async () => {
  const at = await usedMount()

  const answer = await at.root.write(`${at.path}/role/r/what-if`, { [names]: ['api', 'a*'], token_ttl: 60 })

  expect(reportOf(answer)).toMatchObject({
    losers: [
      { role: 'r', reason: 'service_account_name_refused', expected: ['api', 'a*'], seen: 'web', logins: 1 },
    ],
    refusals: { tried: 0 },
    admits_more: [
      { field: names, text: 'value "api"' },
      { field: names, text: 'values like "a*"' },
    ],
    changes: [{ field: 'token_ttl', before: null, after: 60 }],
  })
  expect((await at.root.read(`${at.path}/role/r`)).body.data?.[names]).toEqual(['web'])
})

test('a guarded write that would lock a pod out is refused with the report', async () => {
  const at = await usedMount()

  const refused = await at.root.write(`${at.path}/role/r?guard=0`, { [names]: ['api'] })
  const written = await at.root.write(`${at.path}/role/r`, { [names]: ['api'], guard: 1 })

  expect([refused.status, reportOf(refused).lose, written.status]).toEqual([409, 1, 204])
})

test('a guarded deletion or configuration that would lock a pod out is refused with the report', async () => {
  const at = await usedMount()
  const { cluster } = await pods()
  const { url: kubernetes_host, caPem: kubernetes_ca_cert, reviewer: token_reviewer_jwt } = cluster
  const same = { kubernetes_host, kubernetes_ca_cert, token_reviewer_jwt, disable_local_ca_jwt: true }

  const refused = [
    await at.root.delete(`${at.path}/role/r?guard=0`),
    await at.root.write(`${at.path}/config?guard=0`, {
      ...same,
      issuer: 'https://x',
      disable_iss_validation: false,
    }),
  ]
  const made = [
    await at.root.write(`${at.path}/config`, { ...same, guard: 0 }),
    await at.root.delete(`${at.path}/role/r?guard=1`),
  ]

  expect(refused.map((one) => [one.status, reportOf(one).lose])).toEqual([
    [409, 1],
    [409, 1],
  ])
  expect(made.map(({ status }) => status)).toEqual([204, 204])
})

test.each([
  { name: 'the same', change: {}, found: { succeed: 1 } },
  {
    name: 'another issuer',
    change: { issuer: 'https://x', disable_iss_validation: false },
    found: { lose: 1 },
    check: 'issuer',
  },
  { name: 'another issuer that is not compared', change: { issuer: 'https://x' }, found: { succeed: 1 } },
  { name: 'another cluster', change: { kubernetes_host: 'https://10.9.8.7' }, found: { unknown: 1 } },
])(
  'a configuration is tried on the logins of all roles, and asks nobody: $name',
  async ({ change, found, check }) => {
    const { cluster } = await pods()
    const at = await usedMount()
    const { url, caPem, reviewer } = cluster
    cluster.requests.length = 0

    const answer = await at.root.write(`${at.path}/config/what-if`, {
      kubernetes_host: url,
      kubernetes_ca_cert: caPem,
      token_reviewer_jwt: reviewer,
      disable_local_ca_jwt: true,
      ...change,
    })

    expect(reportOf(answer)).toMatchObject({ subjects: 1, ...found })
    expect(checksOf(answer)).toEqual(check === undefined ? [] : [check])
    expect(cluster.requests).toEqual([])
  },
)

test('a configuration or a role that a write would refuse is refused in the same words', async () => {
  const at = await usedMount()

  const tried = [
    await at.root.write(`${at.path}/config/what-if`, {}),
    await at.root.write(`${at.path}/role/r/what-if`, { [names]: ['*', 'a'] }),
  ]
  const written = [
    await at.root.write(`${at.path}/config`, {}),
    await at.root.write(`${at.path}/role/r`, { [names]: ['*', 'a'] }),
  ]

  expect(tried.map(({ status, body }) => [status, body.errors])).toEqual(
    written.map(({ body }) => [400, body.errors]),
  )
})
