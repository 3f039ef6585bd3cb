import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import type { BenchOptions, Requests } from './bench-case.ts'
import { makeBenchFolder } from './bench-folder.ts'
import { filledPolicy, fillPolicies } from './fill-policies.ts'
import type { Generator } from './generator.ts'
import { measureGrownStore } from './grown-store.ts'
import { megabytes } from './table.ts'

export type StoredPoliciesInput = {
  readonly policies: number
  readonly idleSeconds: number
  readonly generator: Generator
  readonly options: BenchOptions
}

const inSmallStore = 1000
/** Policies of one caller. */
const held = 10
const callers = 64
const asked = 4096

/** Measures a store with many policies, of which each caller has a few, in turns with a store that has few. */
export async function measureStoredPolicies(input: StoredPoliciesInput): Promise<string> {
  const { policies, ...rest } = input
  await using smallFolder = await makeBenchFolder()
  await using largeFolder = await makeBenchFolder()
  const began = performance.now()
  await fill(smallFolder.path, inSmallStore)
  await fill(largeFolder.path, policies)
  const { size } = await stat(join(largeFolder.path, 'gatehouse.db'))
  const filledIn = ((performance.now() - began) / 1000).toFixed(1)
  const measured = await measureGrownStore({
    large: largeFolder.path,
    small: smallFolder.path,
    ...rest,
    requests: (server, folder) => requests(server, folder === largeFolder.path ? policies : inSmallStore),
  })
  return `${policies} policies written in ${filledIn} s, database ${megabytes(size)} MB\n${measured}`
}

async function fill(folder: string, count: number): Promise<void> {
  await (await startServerProcess({ folder })).stop()
  const onProgress = (done: number) => process.stderr.write(`\r${done} policies`)
  await fillPolicies({ folder, count, onProgress })
  process.stderr.write('\n')
}

async function requests({ url, rootToken }: ServerProcess, count: number): Promise<Record<string, Requests>> {
  const spread = (index: number, among: number) => filledPolicy(Math.floor((index * count) / among))
  const tokens = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const policies = Array.from({ length: held }, (_one, index) =>
        spread(caller * held + index, callers * held),
      )
      const { body } = await sendSuccessfully(url, {
        method: 'POST',
        path: 'auth/token/create',
        token: rootToken,
        body: { policies },
      })
      const auth = body?.auth
      if (typeof auth === 'object' && auth !== null && 'client_token' in auth)
        return String(auth.client_token)
      throw new Error('no token was made')
    }),
  )
  const get = (path: string, token: string) => ({ method: 'GET', path, variants: [{ token }] })
  return {
    'lookup-self, 10 policies': {
      method: 'GET',
      path: '/v1/auth/token/lookup-self',
      variants: tokens.map((token) => ({ token })),
    },
    'capabilities-self, 10 policies': {
      method: 'POST',
      path: '/v1/sys/capabilities-self',
      variants: tokens.flatMap((token) =>
        Array.from({ length: asked / callers }, (_, index) => ({
          token,
          body: JSON.stringify({ paths: [`secret/data/${spread(index, asked / callers)}/db`] }),
        })),
      ),
    },
    'policy read': get(`/v1/sys/policies/acl/${spread(1, 2)}`, rootToken),
  }
}
