import { expect, test } from 'vitest'
import { Migrations } from '../../../src/core/mounts/migrations.ts'
import { MountIndex } from '../../../src/core/mounts/mount-table.ts'
import { planMove } from '../../../src/core/mounts/move.ts'
import { type Namespace, rootNamespace } from '../../../src/core/namespaces/namespace.ts'
import { openCoreView } from '../../support/core-view.ts'
import { someMountTypes } from '../../support/mount-types.ts'
import { aMount } from './a-mount.ts'

const child = { id: 'abc123', path: 'ns1/' }
const table = new MountIndex([
  aMount('sys/', { type: 'system', plugin: 'system' }),
  aMount('auth/token/', { type: 'token', plugin: 'token' }),
  aMount('auth/jwt/'),
  aMount('auth/other/'),
  aMount('cloud/'),
  aMount('team/b/'),
  aMount('leaving/', { tainted: true }),
])
const context = {
  table,
  system: { defaultTtl: 1, maxTtl: 1 },
  types: someMountTypes(),
  conflictingNamespace: (_: string, path: string) => (path.startsWith('ns1/') ? 'ns1/' : undefined),
}
const side = (path: string, namespace: Namespace = rootNamespace) => ({ namespace, path })

test.each([
  { from: '', to: 'x', text: "both 'from' and 'to' path must be specified as a string" },
  { from: 'cloud', to: '', text: "both 'from' and 'to' path must be specified as a string" },
  { from: 'cloud ', to: 'x', text: "'from' path cannot contain trailing whitespace" },
  { from: ' cloud', to: 'x', text: "'from' path cannot contain trailing whitespace" },
  { from: 'cloud', to: 'x ', text: "'to' path cannot contain trailing whitespace" },
  { from: 'sys', to: 'x', text: 'cannot remount "sys/"' },
  { from: 'sys/x', to: 'x', text: 'cannot remount "sys/x/"' },
  { from: 'cubbyhole/', to: 'x', text: 'cannot remount "cubbyhole/"' },
  { from: 'identity', to: 'x', text: 'cannot remount "identity/"' },
  { from: 'auth/token', to: 'auth/x', text: 'cannot remount "auth/token/"' },
  { from: 'auth/jwt', to: 'x', text: 'cannot remount auth mount to non-auth mount "x/"' },
  { from: 'none', to: 'x', text: 'no matching mount at "none/"' },
  { from: 'cloud/below', to: 'x', text: 'no matching mount at "cloud/below/"' },
  { from: 'leaving', to: 'x', text: 'no matching mount at "leaving/"' },
  { from: 'cloud', to: 'cloud', text: 'path already in use at "cloud/"' },
  { from: 'cloud', to: 'cloud/below', text: 'path already in use at "cloud/"' },
  { from: 'cloud', to: 'team', text: 'path already in use at "team/b/"' },
  { from: 'auth/jwt', to: 'auth/other/', text: 'path already in use at "auth/other/"' },
  { from: 'cloud', to: 'leaving', text: 'path already in use at "leaving/"' },
  { from: 'cloud', to: 'ns1/x', text: 'path already in use at "ns1/"' },
  { from: 'cloud', to: 'sys/x', text: 'cannot remount to destination sys/x/' },
  { from: 'cloud', to: 'auth/x', text: 'cannot remount to destination auth/x/' },
  { from: 'cloud', to: 'docs', text: 'cannot remount to destination docs/' },
  { from: 'auth/jwt', to: 'auth/token', text: 'cannot remount to destination "auth/token/"' },
  { from: 'auth/jwt', to: 'auth/token/x', text: 'cannot remount to destination "auth/token/x/"' },
  {
    from: 'cloud',
    to: 'x\u0007y',
    text: 'invalid destination mount: path cannot contain non-printable characters',
  },
  {
    from: 'cloud',
    to: 'a//b',
    text: "invalid destination mount: path 'a//b/' does not match cleaned path 'a/b/'",
  },
  {
    from: 'cloud',
    to: '../b',
    text: "invalid destination mount: path '../b/' does not match cleaned path 'b/'",
  },
  { from: 'auth/jwt', to: 'auth/', text: 'invalid destination mount: path cannot be empty' },
  { from: 'cloud', to: '/', text: 'invalid destination mount: path cannot be empty' },
])('a move from "$from" to "$to" is refused', ({ from, to, text }) => {
  expect(() => planMove(side(from), side(to), context)).toThrow(
    expect.objectContaining({ kind: 'invalid', wrapped: false, message: text }),
  )
})

test.each([
  { from: 'cloud', to: 'team/cloud', path: 'team/cloud/' },
  { from: 'cloud/', to: 'clouds/', path: 'clouds/' },
  { from: '/cloud', to: '/x', path: 'x/' },
  { from: 'auth/jwt', to: 'auth/ns1/deep', path: 'auth/ns1/deep/' },
])('a move from "$from" to "$to" is allowed', ({ from, to, path }) => {
  expect(planMove(side(from), side(to), context).target).toMatchObject({ namespace: 'root', path })
})

test('a mount may move into another namespace, also to its own path there', () => {
  const move = planMove(side('auth/jwt'), side('auth/jwt', child), context)

  expect(move.target).toEqual({ namespace: 'abc123', table: 'auth', path: 'auth/jwt/' })
})

test('only the last hundred moves are remembered', async () => {
  await using fixture = await openCoreView()
  const view = fixture.barrier.view('')
  const migrations = new Migrations(view, fixture.clock)
  const moveOf = (id: string) => ({
    id,
    namespace: 'root',
    path: 'b/',
    source_mount: 'a/',
    target_mount: 'b/',
  })
  for (let number = 0; number <= 100; number++) {
    fixture.clock.advance(1)
    await view.write([migrations.entry(moveOf(`${number}`), 'in-progress')])
  }
  await view.write([migrations.entry(moveOf('100'), 'success')])

  await migrations.trim()

  expect(await migrations.find('0')).toBeUndefined()
  expect((await migrations.find('1'))?.migration_info.status).toBe('in-progress')
  expect(await migrations.find('100')).toEqual({
    migration_id: '100',
    migration_info: { source_mount: 'a/', status: 'success', target_mount: 'b/' },
  })
})
