import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Mount } from '../../../src/core/mounts/mount.ts'
import { MountIndex } from '../../../src/core/mounts/mount-table.ts'
import { aMount } from './a-mount.ts'

const table = new MountIndex([
  aMount('sys/'),
  aMount('cloud/'),
  aMount('team/a/'),
  aMount('team/ab/'),
  aMount('auth/token/'),
  aMount('auth/team/a/jwt/'),
  aMount('jwt/', { namespace: 'ns1' }),
])

describe('resolve', () => {
  test.each([
    { path: 'cloud/creds/x', mount: 'cloud/', below: 'creds/x' },
    { path: 'cloud/', mount: 'cloud/', below: '' },
    { path: 'cloud', mount: 'cloud/', below: '' },
    { path: 'cloud/a/', mount: 'cloud/', below: 'a/' },
    { path: 'team/a/x', mount: 'team/a/', below: 'x' },
    { path: 'team/ab/x', mount: 'team/ab/', below: 'x' },
    { path: 'team/ab', mount: 'team/ab/', below: '' },
    { path: 'auth/team/a/jwt/role/r', mount: 'auth/team/a/jwt/', below: 'role/r' },
    { path: 'auth/token', mount: 'auth/token/', below: '' },
    { path: 'sys/auth/token/tune', mount: 'sys/', below: 'auth/token/tune' },
  ])('$path belongs to $mount', ({ path, mount, below }) => {
    const resolved = table.resolve('root', path)

    expect(resolved?.mount.path).toBe(mount)
    expect(resolved?.below).toBe(below)
  })

  test.each([
    '',
    '/',
    'cloudy',
    'cloudy/x',
    'Cloud/x',
    'team',
    'team/',
    'team/abc/x',
    'auth',
    'auth/',
    'auth/jwt/x',
    'auth/cloud/x',
    'jwt/x',
    '/cloud/x',
    '__proto__/x',
  ])('%j belongs to no mount of the root namespace', (path) => {
    expect(table.resolve('root', path)).toBeUndefined()
  })

  test('each namespace has its own mounts', () => {
    expect(table.resolve('ns1', 'jwt/x')?.mount.namespace).toBe('ns1')
    expect(table.resolve('ns1', 'cloud/x')).toBeUndefined()
    expect(table.resolve('ns2', 'jwt/x')).toBeUndefined()
  })
})

test('a mount is found by exact path, accessor and uuid', () => {
  expect(table.at('root', 'cloud/')?.path).toBe('cloud/')
  expect(table.at('root', 'cloud/x/')).toBeUndefined()
  expect(table.at('root', 'cloud')).toBeUndefined()
  expect(table.byAccessor('accessor of root:cloud/')?.path).toBe('cloud/')
  expect(table.byUuid('uuid of ns1:jwt/')?.namespace).toBe('ns1')
})

test('a listing shows one table of one namespace, sorted by path', () => {
  expect(table.list('root', 'secret').map((mount) => mount.path)).toEqual([
    'cloud/',
    'sys/',
    'team/a/',
    'team/ab/',
  ])
  expect(table.list('root', 'auth').map((mount) => mount.path)).toEqual(['auth/team/a/jwt/', 'auth/token/'])
})

test.each([
  { path: 'cloud/', by: 'cloud/' },
  { path: 'cloud/x/y/', by: 'cloud/' },
  { path: 'team/', by: 'team/a/' },
  { path: 'auth/team/a/', by: 'auth/team/a/jwt/' },
  { path: 'clou/', by: undefined },
  { path: 'cloudy/', by: undefined },
  { path: 'team/a1/', by: undefined },
  { path: 'new/', by: undefined },
])('$path conflicts with $by', ({ path, by }) => {
  expect(table.conflictWith('root', path)?.path).toBe(by)
})

test('changing a table does not alter the previous one', () => {
  const cloud = aMount('cloud/')

  const next = table.with([{ ...cloud, path: 'moved/' }], [aMount('sys/')])

  expect(next.resolve('root', 'moved/x')?.mount.uuid).toBe(cloud.uuid)
  expect(next.resolve('root', 'cloud/x')).toBeUndefined()
  expect(next.resolve('root', 'sys/x')).toBeUndefined()
  expect(table.resolve('root', 'cloud/x')?.mount.path).toBe('cloud/')
})

describe('a changed table', () => {
  test('has what any sequence of changes leaves, and the tables before it stay as they were', () => {
    const mounts = fc.uniqueArray(
      fc.record({
        number: fc.nat(9),
        namespace: fc.constantFrom('root', 'ns1'),
        path: fc.constantFrom('a/', 'a/b/', 'c/', 'c/d/e/', 'c/d/f/', 'auth/a/'),
      }),
      { maxLength: 4, selector: ({ number }) => number },
    )
    const steps = fc.array(fc.record({ changed: mounts, removed: fc.uniqueArray(fc.nat(9)) }), {
      maxLength: 12,
    })
    const made = ({ number, namespace, path }: { number: number; namespace: string; path: string }) => ({
      ...aMount(path, { namespace }),
      uuid: `uuid-${number}`,
      accessor: `accessor-${number}`,
    })
    const shown = (index: MountIndex) => ({
      all: index.all().map(shownMount).sort(),
      of: ['root', 'ns1'].map((namespace) => index.of(namespace).map(shownMount).sort()),
      found: ['root', 'ns1'].flatMap((namespace) =>
        ['a/x', 'a/b/x', 'c/x', 'c/d/e/x', 'c/d/f', 'c/d/x', 'auth/a/x'].map((path) => {
          const mount = index.resolve(namespace, path)?.mount
          return mount && shownMount(mount)
        }),
      ),
      byId: Array.from({ length: 10 }, (_, number) => {
        const mount = index.byUuid(`uuid-${number}`)
        expect(index.byAccessor(`accessor-${number}`)).toBe(mount)
        return mount && shownMount(mount)
      }),
    })
    const shownMount = ({ uuid, namespace, path }: Mount) => `${uuid} ${namespace} ${path}`

    fc.assert(
      fc.property(steps, (all) => {
        let index = new MountIndex([])
        let model = new Map<string, Mount>()
        for (const { changed, removed } of all) {
          const gone = removed.flatMap((number) => model.get(`uuid-${number}`) ?? [])
          const next = new Map(model)
          for (const { uuid } of gone) next.delete(uuid)
          for (const mount of changed.map(made)) {
            // no two mounts have the same path
            for (const other of next.values())
              if (
                other.path === mount.path &&
                other.namespace === mount.namespace &&
                other.uuid !== mount.uuid
              )
                next.delete(other.uuid)
            next.set(mount.uuid, mount)
          }
          const lost = [...model.values()].filter(({ uuid }) => !next.has(uuid))
          const given = [...next.values()].filter((mount) => model.get(mount.uuid) !== mount)
          const before = shown(index)
          const after = index.with(given, lost)
          expect(shown(after)).toEqual(shown(new MountIndex(next.values())))
          expect(shown(index)).toEqual(before)
          index = after
          model = next
        }
      }),
    )
  })
})
