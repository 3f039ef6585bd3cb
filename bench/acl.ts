import { randomBytes } from 'node:crypto'
import { openBarrier } from '../src/core/barrier/barrier.ts'
import type { AclRequest } from '../src/core/policies/acl.ts'
import { PolicyStore } from '../src/core/policies/policy-store.ts'
import type { TemplateContext } from '../src/core/policies/templates.ts'
import { systemClock } from '../src/lib/system/clock.ts'
import { systemRandom } from '../src/lib/system/random.ts'
import { openMemory } from '../src/storage/sqlite/sqlite.ts'
import { manyPolicies, manyPolicyNames, pathsPerPolicy } from './many-policies.ts'
import { median } from './measure.ts'
import { verdict } from './table.ts'

const requestsPerRound = 20_000
const aimMicros = 20

/**
 * Measures an access decision for a token with many policies: from its list of policy names to the verdict,
 * as in each request, and the verdict alone. Also the first request, which reads, parses and compiles all
 * policies.
 */
export async function measureAcl({
  policies,
  rounds,
}: {
  policies: number
  rounds: number
}): Promise<string> {
  await using storage = await openMemory()
  const log = {
    error: (fields: object, text: string) => process.stderr.write(`${text} ${JSON.stringify(fields)}\n`),
  }
  const barrier = await openBarrier({
    storage,
    sealKey: randomBytes(32),
    clock: systemClock,
    random: systemRandom,
    log,
  })
  const store = await PolicyStore.open({ view: barrier.view('core/policy/'), clock: systemClock })
  for (const { name, text } of manyPolicies(policies)) await store.put('root', name, text)

  const names = ['default', ...manyPolicyNames(policies)]
  const context: TemplateContext = {
    entity: { id: 'e', name: 'alice', metadata: null, aliases: [] },
    groups: [],
    now: systemClock.now(),
  }
  const requests = Array.from({ length: 1024 }, (_, index) => questionFor(index, policies))

  const startedAt = performance.now()
  await store.aclFor('root', names, context)
  const firstMs = performance.now() - startedAt

  const whole: number[] = []
  const alone: number[] = []
  // round 0 is a warm-up and is not counted
  for (let round = 0; round <= rounds; round++) {
    const wholeMicros = await microsEach(
      async (request) => (await store.aclFor('root', names, context)).decide(request).allowed,
      requests,
    )
    const acl = await store.aclFor('root', names, context)
    const aloneMicros = await microsEach((request) => acl.decide(request).allowed, requests)
    if (round > 0) whole.push(wholeMicros)
    if (round > 0) alone.push(aloneMicros)
  }
  const perRequest = median(whole)
  return [
    `ACL, ${policies} policies of ${pathsPerPolicy} paths: a request's decision ${perRequest.toFixed(1)} µs (${verdict(perRequest <= aimMicros, `≤ ${aimMicros} µs`)}),`,
    `of which the rules take ${median(alone).toFixed(1)} µs; the first request ${Math.round(firstMs)} ms`,
  ].join(' ')
}

/** Paths matched by every kind of rule, and some matched by none. */
function questionFor(index: number, policies: number): AclRequest {
  const team = `team-${(index * 7919) % policies}`
  const paths = [
    `secret/${team}/app-3/db`,
    `auth/jwt/role/${team}-4`,
    `cloud/${team}/creds/x`,
    `cloud/nobody/creds/${team}`,
    `shared/${team}/a/b/c`,
  ]
  return { operation: index % 4 === 0 ? 'list' : 'read', path: paths[index % paths.length] ?? '' }
}

async function microsEach(
  decide: (request: AclRequest) => boolean | Promise<boolean>,
  requests: readonly AclRequest[],
): Promise<number> {
  const startedAt = performance.now()
  let allowed = 0
  for (let index = 0; index < requestsPerRound; index++) {
    const request = requests[index % requests.length]
    if (request === undefined) throw new Error('no request to decide about')
    const answer = decide(request)
    if (typeof answer === 'boolean' ? answer : await answer) allowed++
  }
  const micros = ((performance.now() - startedAt) * 1000) / requestsPerRound
  if (allowed === 0 || allowed === requestsPerRound)
    throw new Error('the requested paths do not cover both verdicts')
  return micros
}
