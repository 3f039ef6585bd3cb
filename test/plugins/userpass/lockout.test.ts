import { expect, test } from 'vitest'
import { inside } from '../../support/client.ts'
import { testOfOneServer } from '../../support/of-one-server.ts'
import { shared } from '../../support/shared.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startUserpassServer, type UserpassMount } from './userpass-server.ts'

const server = shared(startUserpassServer)

const wrong = '400 invalid username or password'
const locked = '403 permission denied'

async function failures(up: UserpassMount, count: number, name = 'bob'): Promise<string[]> {
  const answers: string[] = []
  for (let at = 0; at < count; at += 1) answers.push(await up.try('bad', name))
  return answers
}

testOfOneServer('five wrong passwords lock a user, whatever is sent, in every spelling', async () => {
  const { anonymous, mount } = await server()
  const up = await mount()

  const first = await failures(up, 5)
  const then = [await up.try('pw'), await up.try('bad'), await up.try('pw', 'BOB')]
  const without = await anonymous.write(`${up.path}/login/bob`, {})

  expect(first).toEqual([wrong, wrong, wrong, wrong, wrong])
  expect(then).toEqual([locked, locked, locked])
  expect(without.body).toMatchObject({ errors: ['permission denied'] })
})

testOfOneServer('other spellings of a name are the same user', async () => {
  const up = await (await server()).mount()
  for (const name of ['bob', 'BOB', 'Bob', 'bOb', 'boB']) await up.try('bad', name)

  expect(await up.try('pw')).toBe(locked)
})

test('a lock concerns one user of one mount', async () => {
  const { mount } = await server()
  const [up, other] = [await mount(), await mount()]
  await up.user({ password: 'pw' }, 'eve')
  await failures(up, 5)

  expect([await up.try('pw', 'eve'), await other.try('pw')]).toEqual(['ok', 'ok'])
})

testOfOneServer('a name that nobody has is refused like one that somebody has', async () => {
  const up = await (await server()).mount()

  const [known, unknown] = [await failures(up, 8), await failures(up, 8, 'nobody')]

  expect(unknown).toEqual(known)
  expect(known).toEqual([wrong, wrong, wrong, wrong, wrong, locked, locked, locked])
})

test('neither missing passwords nor refused addresses count, and the latter clear nothing', async () => {
  const up = await (await server()).mount({ token_bound_cidrs: '10.0.0.0/8' })
  await up.tune({ lockout_threshold: '2' })
  const sent = ['', ['x'], '', ['x'], '', 'bad', 'pw', 'bad', 'bad']
  const answers = []
  for (const password of sent) answers.push((await up.login(password)).status)

  expect(answers).toEqual([400, 400, 400, 400, 400, 400, 403, 400, 403])
})

test('a login begins the count anew, also one that gives a batch token', async () => {
  const up = await (await server()).mount({ token_type: 'batch' })
  await up.tune({ lockout_threshold: 3 })
  const answers = []
  for (const password of ['bad', 'bad', 'pw', 'bad', 'bad', 'pw', 'bad', 'bad', 'bad', 'pw'])
    answers.push(await up.try(password))

  expect(answers).toEqual([wrong, wrong, 'ok', wrong, wrong, 'ok', wrong, wrong, wrong, locked])
})

testOfOneServer('a lock ends; one more wrong password locks again, until the count is reset', async () => {
  const { clock, mount } = await server()
  const up = await mount()
  await up.tune({ lockout_threshold: 2, lockout_duration: '1m', lockout_counter_reset_duration: '10m' })
  await failures(up, 2)
  const answers = [await up.try('pw')]
  clock.advance(61)
  answers.push(await up.try('bad'), await up.try('pw'))
  clock.advance(601)
  answers.push(await up.try('bad'), await up.try('pw'))

  expect(answers).toEqual([locked, wrong, locked, wrong, 'ok'])
})

test('wrong passwords that are further apart than the reset do not lock', async () => {
  const { clock, mount } = await server()
  const up = await mount()
  await up.tune({ lockout_threshold: 2, lockout_duration: '1h', lockout_counter_reset_duration: '2m' })
  const answers = []
  for (let at = 0; at < 3; at += 1) {
    answers.push(await up.try('bad'))
    clock.advance(121)
  }

  expect([...answers, await up.try('pw')]).toEqual([wrong, wrong, wrong, 'ok'])
})

test('neither a new password nor a new user of that name unlocks', async () => {
  const { root, mount } = await server()
  const up = await mount()
  await up.tune({ lockout_threshold: 1 })
  await failures(up, 1)
  await root.write(`${up.path}/users/bob/password`, { password: 'new' })
  const answers = [await up.try('new')]
  await root.delete(`${up.path}/users/bob`)
  await up.user({ password: 'pw' })
  answers.push(await up.try('pw'))
  await root.write(`sys/locked-users/${await up.accessor()}/unlock/bob`)

  expect([...answers, await up.try('pw')]).toEqual([locked, locked, 'ok'])
})

test('a lock survives a restart', async () => {
  await using folder = await temporaryFolder()
  const settings = { STORAGE: `sqlite:${folder.file('g.db')}`, SEAL_KEY_FILE: folder.file('seal.key') }
  const first = await startUserpassServer({ settings })
  const up = await first.mount()
  await failures(up, 5)
  await first[Symbol.asyncDispose]()

  await using next = await startUserpassServer({ settings })
  const login = async () => (await next.anonymous.write(`${up.path}/login/bob`, { password: 'pw' })).status
  const locked = await login()
  next.clock.advance(15 * 60 + 1)

  expect([locked, await login()]).toEqual([403, 200])
})

testOfOneServer('of many wrong passwords at once, no more count than the threshold allows', async () => {
  const up = await (await server()).mount()
  await up.tune({ lockout_threshold: 3 })

  const answers = await Promise.all(Array.from({ length: 8 }, () => up.try('bad')))

  expect(answers.filter((answer) => answer === wrong)).toHaveLength(3)
  expect(await up.try('pw')).toBe(locked)
})

test('a mount that is tuned not to lock frees its users at once', async () => {
  const up = await (await server()).mount()
  await failures(up, 5)
  await up.tune({ lockout_disable: true })
  const free = await up.try('pw')

  expect([free, ...(await failures(up, 7))]).toEqual(['ok', ...Array.from({ length: 7 }, () => wrong)])
})

testOfOneServer('a server can be set not to lock, or after another number', async () => {
  await using off = await startUserpassServer({ settings: { USER_LOCKOUT: 'off' } })
  await using two = await startUserpassServer({ settings: { USER_LOCKOUT: '2/1m/1m' } })
  const [never, soon] = [await off.mount(), await two.mount()]
  await failures(never, 6)
  await failures(soon, 2)
  const answers = [await never.try('pw'), await soon.try('pw')]
  two.clock.advance(61)

  expect([...answers, await soon.try('pw')]).toEqual(['ok', locked, 'ok'])
})

test('tuning: what is not named is kept, and 0 is the value of the server', async () => {
  const { root, mount } = await server()
  const up = await mount()
  const shown = async () => {
    const { data } = (await root.read(`sys/${up.path}/tune`)).body
    return ['threshold', 'duration', 'counter_reset_duration', 'disable'].map(
      (name) => data?.[`user_lockout_${name}`],
    )
  }
  const before = await shown()
  const steps: unknown[] = []
  for (const config of [
    { lockout_threshold: '3' },
    { lockout_duration: '2m' },
    { lockout_counter_reset_duration: '90', lockout_disable: true },
    { lockout_disable: false, lockout_threshold: 4, lockout_duration: 60 },
    { lockout_duration: 'system', lockout_threshold: '' },
    { zzz: 1 },
    {},
  ]) {
    expect((await up.tune(config)).status).toBe(204)
    steps.push(await shown())
  }

  expect(before).toEqual([undefined, undefined, undefined, undefined])
  expect(steps).toEqual([
    [3, 0, 0, false],
    [3, 120, 0, false],
    [3, 120, 90, true],
    [4, 60, 90, false],
    [4, 0, 90, false],
    [4, 0, 90, false],
    [4, 0, 90, false],
  ])
  expect((await root.read(`sys/${up.path}`)).body.data?.config?.user_lockout_config).toEqual({
    user_lockout_threshold: 4,
    user_lockout_duration: 0,
    user_lockout_counter_reset_duration: 90,
    user_lockout_disable: false,
  })
})

test.each([
  [{ lockout_threshold: 'x' }, 'unable to parse user lockout threshold: '],
  [{ lockout_threshold: -1 }, 'unable to parse user lockout threshold: '],
  [{ lockout_threshold: [5] }, 'unable to convert given user lockout config information'],
  [{ lockout_duration: 'x' }, 'time: invalid duration "x"'],
  [{ lockout_duration: '-5m' }, 'lockout durations cannot be negative'],
  [{ lockout_counter_reset_duration: -1 }, 'lockout durations cannot be negative'],
  [{ lockout_disable: 'true' }, 'unable to convert given user lockout config information'],
])('a tuning is refused: %j', async (config, text) => {
  const up = await (await server()).mount()

  const { status, body } = await up.tune(config)

  expect(status).toBe(400)
  expect(String(body.errors)).toContain(text)
})

test('only mounts whose users can be locked are tuned, and not when they are enabled', async () => {
  const { root } = await server()
  const user_lockout_config = { lockout_threshold: '3' }
  const refusals = [
    await root.write('sys/auth/jwt/tune', { user_lockout_config }),
    await root.write('sys/auth/token/tune', { user_lockout_config }),
    await root.write('sys/mounts/cubbyhole/tune', { user_lockout_config }),
    await root.write('sys/auth/new', {
      type: 'userpass',
      config: { user_lockout_config: { lockout_threshold: 3 } },
    }),
  ]

  expect(refusals.map(({ status }) => status)).toEqual([400, 400, 400, 400])
  expect(refusals.map(({ body }) => String(body.errors))).toEqual([
    'tuning of user lockout configuration for auth type "jwt" not allowed',
    'tuning of user lockout configuration for auth type "token" not allowed',
    'cannot tune parameter user_lockout_config of cubbyhole/',
    'unable to convert given auth config information',
  ])
})

test('locked users are listed and unlocked by their exact names, without sudo', async () => {
  const { root, as, mount, clock } = await server()
  const up = await mount()
  const accessor = await up.accessor()
  const list = `sys/locked-users?mount_accessor=${accessor}`
  await up.tune({ lockout_threshold: 1 })
  await up.user({ password: 'pw' }, 'eve')
  for (const name of ['eve', 'bob', 'nobody']) await failures(up, 1, name)
  const rules = `path "sys/locked-users" { capabilities = ["read"] }
    path "sys/locked-users/*" { capabilities = ["update"] }`
  await root.write('sys/policies/acl/warden', { policy: rules })
  const token = await root.write('auth/token/create', { policies: ['warden'] })
  const warden = as(String(token.body.auth?.client_token))

  const both = await warden.read(list)
  const statuses = [
    (await warden.write(`sys/locked-users/${accessor}/unlock/BOB`)).status,
    (await warden.write(`sys/locked-users/${accessor}/unlock/nobody`)).status,
    (await warden.write('sys/locked-users/unknown/unlock/bob')).status,
    (await warden.call('PUT', `sys/locked-users/${accessor}/unlock/eve`)).status,
  ]
  const one = await warden.read(list)
  clock.advance(15 * 60 + 1)
  const none = await warden.read(list)

  const shown = (names: string[] | null) => {
    const counts = names?.length ?? 0
    const mounts = [{ mount_accessor: accessor, counts, alias_identifiers: names }]
    return {
      by_namespace: [{ namespace_id: 'root', namespace_path: '', counts, mount_accessors: mounts }],
      total: counts,
    }
  }
  expect(statuses).toEqual([204, 204, 204, 204])
  expect(both.body.data).toEqual(shown(['bob', 'eve']))
  expect(one.body.data).toEqual(shown(['bob']))
  expect(none.body.data).toEqual(shown(null))
})

test('other verbs and paths of locked users', async () => {
  const { root, anonymous } = await server()
  const answers = [
    await anonymous.read('sys/locked-users'),
    await root.read('sys/locked-users/a/unlock/bob'),
    await root.write('sys/locked-users', {}),
    await root.delete('sys/locked-users'),
    await root.list('sys/locked-users'),
    await root.write('sys/locked-users/a/unlock/', {}),
    await root.write('sys/locked-users/a/unlock', {}),
  ]

  expect(answers.map(({ status }) => status)).toEqual([403, 405, 405, 405, 404, 400, 404])
})

test('a namespace sees the locked users of itself and below, most first, and unlocks its own', async () => {
  const { root, anonymous } = await server()
  await root.write('sys/namespaces/ns')
  await root.write('sys/namespaces/child', undefined, inside('ns'))
  for (const namespace of ['ns', 'ns/child']) {
    await root.write('sys/auth/up', { type: 'userpass' }, inside(namespace))
    await root.write('auth/up/users/bob', { password: 'pw' }, inside(namespace))
    await root.write('sys/auth/up/tune', { user_lockout_config: { lockout_threshold: 1 } }, inside(namespace))
  }
  const login = (password: string) => anonymous.write('auth/up/login/bob', { password }, inside('ns/child'))
  await login('bad')
  const mount = await root.read('sys/auth/up', inside('ns/child'))
  const accessor = String(mount.body.data?.accessor)

  const seen = (await root.read('sys/locked-users', inside('ns'))).body.data
  const own = (await root.read(`sys/locked-users?mount_accessor=${accessor}`, inside('ns'))).body.data
  await root.write(`sys/locked-users/${accessor}/unlock/bob`, undefined, inside('ns'))
  const still = (await login('pw')).status
  await root.write(`sys/locked-users/${accessor}/unlock/bob`, undefined, inside('ns/child'))

  expect(seen).toMatchObject({
    by_namespace: [
      { namespace_path: 'ns/child/', counts: 1, mount_accessors: [{ alias_identifiers: ['bob'] }] },
      { namespace_path: 'ns/', counts: 0, mount_accessors: [] },
    ],
    total: 1,
  })
  expect(own?.total).toBe(0)
  expect([still, (await login('pw')).status]).toEqual([403, 200])
})
