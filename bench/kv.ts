import { setTimeout as wait } from 'node:timers/promises'
import { clientTokenOf, send, sendSuccessfully } from '../simulators/operator.ts'
import { type BenchCase, type BenchSetup, type Requests, readsOf, usualConnections } from './bench-case.ts'
import { secretOf } from './fill-secrets.ts'

const [mount, policy] = ['bench-kv', 'bench-kv']
const rules = `path "${mount}/*" { capabilities = ["create", "update", "read", "list"] }`
/** Keys that are written in turn, and those of the list. */
const [writtenKeys, listed] = [256, 1000]
const writtenAtOnce = 50
const [prepareLimitMs, pollMs] = [30_000, 50]

/** Writes, reads and a list of secrets with a token of one policy. */
export async function kvCases({ url, rootToken, options }: BenchSetup): Promise<BenchCase[]> {
  const write = (path: string, input: object) =>
    sendSuccessfully(url, { method: 'POST', path, token: rootToken, body: input })
  await write(`sys/mounts/${mount}`, { type: 'kv-v2' })
  await write(`sys/policies/acl/${policy}`, { policy: rules })
  const token = clientTokenOf(await write('auth/token/create', { policies: [policy] }))
  await whenPrepared(url, rootToken)
  for (let done = 0; done < listed; done += writtenAtOnce) {
    const batch = Array.from({ length: writtenAtOnce }, (_, index) => `${mount}/data/list/${done + index}`)
    await Promise.all(batch.map((path) => write(path, { data: secretOf(0) })))
  }
  const body = JSON.stringify({ data: secretOf(1) })
  const writes = (count: number, pathOf: (index: number) => string): Requests => ({
    method: 'POST',
    path: `/v1/${mount}/data`,
    variants: Array.from({ length: count }, (_, index) => ({
      token,
      body,
      path: `/v1/${mount}/data/${pathOf(index)}`,
    })),
  })
  const fresh = writes(
    (options.rounds + 1) * options.freshSubjects,
    (index) => `new/${index % 1000}/${index}`,
  )
  const rows: Record<string, { requests: Requests; aimBeside: number }> = {
    'kv write, new key': { requests: { ...fresh, once: true }, aimBeside: 4 },
    'kv write, new version': { requests: writes(writtenKeys, (index) => `old/${index}`), aimBeside: 4 },
    'kv read': { requests: readsOf(token, `${mount}/data/list/0`), aimBeside: 4 },
    [`kv LIST of ${listed}`]: {
      requests: { ...readsOf(token, `${mount}/metadata/list`), method: 'LIST' },
      aimBeside: 2,
    },
  }
  return Object.entries(rows).map(([name, { requests, aimBeside }]) => ({
    name,
    aimBeside,
    connections: usualConnections,
    ours: requests,
    against: { contender: 'itself', requests },
  }))
}

/** Other servers refuse writes until a new mount is ready. */
async function whenPrepared(url: string, token: string): Promise<void> {
  const call = { method: 'POST', path: `${mount}/data/first`, token, body: { data: secretOf(0) } }
  const endsAt = Date.now() + prepareLimitMs
  while ((await send(url, call)).status > 299 && Date.now() < endsAt) await wait(pollMs)
  await sendSuccessfully(url, call)
}
