import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { otherAuthority } from '../../../simulators/cluster/certificates.ts'
import { startPods, told } from './pods.ts'

/** A server that runs in the cluster, as a pod whose files may be replaced. */
async function startInside() {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-pod-'))
  const own = await startPods({ settings: { SERVICE_ACCOUNT_DIR: folder } })
  const write = (name: 'token' | 'ca.crt', text: string) => writeFile(join(folder, name), text)
  await write('token', `${own.cluster.reviewer}\n`)
  await write('ca.crt', own.cluster.caPem)
  const at = await own.mount({ kubernetes_ca_cert: '', token_reviewer_jwt: '', disable_local_ca_jwt: false })
  return {
    ...own,
    at,
    write,
    remove: (name: 'token' | 'ca.crt') => rm(join(folder, name)),
    [Symbol.asyncDispose]: async () => {
      await own[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

test('token and authority of the own service account are used', async () => {
  await using inside = await startInside()

  expect(told(await inside.at.login())).toBe('200 ok')
  expect(inside.cluster.requests.at(-1)?.bearer).toBe(inside.cluster.reviewer)
  expect((await inside.at.root.read(`${inside.at.path}/status`)).body.data).toMatchObject({
    reviewer: 'file',
    ca: 'file',
  })
})

test('a token that was replaced is read again once the cluster refuses the old one', async () => {
  await using inside = await startInside()
  const { objects } = inside.cluster
  await inside.at.login()
  objects.rights.delete(inside.cluster.reviewer)
  expect(told(await inside.at.login())).toBe('403 permission denied')

  objects.rights.set('newer', new Set(['review']))
  await inside.write('token', 'newer')

  expect(told(await inside.at.login())).toBe('200 ok')
})

test('an authority that was replaced is read again once the handshake fails', async () => {
  await using inside = await startInside()
  await inside.at.login()
  inside.cluster.useOtherAuthority(true)
  await inside.write('ca.crt', otherAuthority)

  expect(told(await inside.at.login())).toBe('200 ok')
})

test('without the file of the token the caller asks; without that of the authority nobody does', async () => {
  await using inside = await startInside()
  await inside.remove('token')
  const jwt = await inside.cluster.token()
  inside.cluster.objects.rights.set(jwt, new Set(['review']))
  expect(told(await inside.at.login({ jwt }))).toBe('200 ok')

  await inside.remove('ca.crt')
  inside.cluster.useOtherAuthority(true)
  expect(told(await inside.at.login({ jwt }))).toBe('403 permission denied')
  expect(told(await inside.at.login({ jwt }))).toBe('403 permission denied')
  expect(await inside.at.lastFailure()).toMatchObject({ reason: 'review_unreachable' })
})

test('an empty token is none: the caller asks, each time', async () => {
  await using inside = await startInside()
  await inside.write('token', '\n')
  const jwt = await inside.cluster.token()
  inside.cluster.objects.rights.set(jwt, new Set(['review']))

  expect(told(await inside.at.login({ jwt }))).toBe('200 ok')
  expect(told(await inside.at.login({ jwt }))).toBe('200 ok')
})

test('an empty authority is none: those of the system do not count, and a later one does at once', async () => {
  await using inside = await startInside()
  await inside.write('ca.crt', '')
  const causes: unknown[] = []
  for (let asked = 0; asked < 2; asked++) {
    expect(told(await inside.at.login())).toBe('403 permission denied')
    causes.push((await inside.at.lastFailure())['cause'])
  }

  expect(new Set(causes)).toEqual(new Set(['the file with the authority of the cluster is gone']))
  await inside.write('ca.crt', inside.cluster.caPem)
  expect(told(await inside.at.login())).toBe('200 ok')
})
