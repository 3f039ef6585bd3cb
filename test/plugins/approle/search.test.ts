import { describe, expect, test } from 'vitest'
import { enableAuditFile } from '../../support/audit-file.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { shared } from '../../support/shared.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startMachines, told } from './machines.ts'

const clock = new FakeClock(Date.UTC(2026, 0, 1))
const machines = shared(() => startMachines({ clock }))
const mount = async () => (await machines()).mount()

/** A role with secret ids by name, and a search that names what it finds. */
async function aRole(secretIds: Readonly<Record<string, object>>) {
  const at = await mount()
  await at.role('r')
  const names = new Map<string, string>()
  const made: Record<string, { secretId: string; accessor: string }> = {}
  for (const [name, fields] of Object.entries(secretIds)) {
    made[name] = await at.secretId('r', fields)
    names.set(made[name].accessor, name)
  }
  const search = (body: object) => at.at('role/r/secret-id/search').write(body)
  const found = async (body: object) => {
    const { status, body: answer } = await search(body)
    expect(status).toBe(200)
    const { data } = answer
    const keys = data?.['keys'] as unknown as string[]
    expect(keys).toEqual(keys.toSorted())
    expect(Object.keys(data?.['key_info'] ?? {})).toEqual(keys)
    return keys.map((accessor) => names.get(accessor)).toSorted()
  }
  return { at, made, search, found }
}

describe('a search of secret ids', () => {
  test('shows the lookup of each by accessor, and never the secret', async () => {
    const { at, made, search } = await aRole({ a: { metadata: '{"team":"shop"}', num_uses: 3, ttl: '1h' } })
    const { secretId = '', accessor = '' } = made['a'] ?? {}

    const answer = await search({ metadata: { team: 'shop' } })

    const lookup = await at.at('role/r/secret-id/lookup').write({ secret_id: secretId })
    expect(answer.body.data).toEqual({
      keys: [accessor],
      key_info: { [accessor]: lookup.body.data },
      next: '',
    })
    expect(answer.text).not.toContain(secretId)
  })

  test('compares metadata exactly, with `*` at the ends of a value', async () => {
    const { found } = await aRole({
      web: { metadata: '{"team":"shop","host":"web-1"}' },
      db: { metadata: '{"team":"shop","host":"db-1"}' },
      star: { metadata: '{"team":"Shop","host":"w*b"}' },
      none: {},
    })

    const rows: (readonly [object | string, readonly string[]])[] = [
      [{ team: 'shop' }, ['db', 'web']],
      [{ team: 'shop', host: 'web-1' }, ['web']],
      [{ host: 'web*' }, ['web']],
      [{ host: '*-1' }, ['db', 'web']],
      [{ host: '*b*' }, ['db', 'star', 'web']],
      [{ host: '*' }, ['db', 'star', 'web']],
      [{ host: 'w*b' }, ['star']],
      [{ host: 'w*1' }, []],
      [{ Team: 'shop' }, []],
      [{ toString: '*' }, []],
      [{ colour: '*' }, []],
      ['{"team":"shop","host":"db*"}', ['db']],
      ['team=shop,host=db*', ['db']],
      [Buffer.from('{"team":"Shop"}').toString('base64'), ['star']],
    ]

    for (const [metadata, names] of rows)
      expect([metadata, await found({ metadata })]).toEqual([metadata, names])
  })

  test('compares networks and times', async () => {
    const { at, made, found } = await aRole({
      wide: { cidr_list: '10.0.0.0/8,192.168.1.0/24' },
      narrow: { cidr_list: '10.1.2.3/32,127.0.0.0/8', ttl: '1h', num_uses: 5 },
      free: { ttl: '2h' },
    })

    expect(await found({ cidr: '10.1.0.0/16' })).toEqual(['wide'])
    expect(await found({ cidr: '10.1.2.3' })).toEqual(['narrow', 'wide'])
    expect(await found({ cidr: '192.168.0.0/16' })).toEqual([])
    const within = (seconds: number) => new Date(clock.now() + seconds * 1000).toISOString()
    expect(await found({ expires_before: within(3600) })).toEqual([])
    expect(await found({ expires_before: within(3601) })).toEqual(['narrow'])
    expect(await found({ expires_before: within(8000), cidr: '10.1.2.3' })).toEqual(['narrow'])
    clock.advance(60)
    const now = within(0)
    expect(await found({ unused_since: now })).toEqual(['free', 'narrow', 'wide'])
    expect((await at.login({ roleId: 'r-id', secretId: made['narrow']?.secretId ?? '' })).status).toBe(200)
    expect(await found({ unused_since: now })).toEqual(['free', 'wide'])
  })

  test('finds no secret id that has ended, was used up or destroyed, or is of another role', async () => {
    const { at, made, found } = await aRole({
      kept: { metadata: 'a=b' },
      ended: { metadata: 'a=b', ttl: '1s' },
      spent: { metadata: 'a=b', num_uses: 1 },
      destroyed: { metadata: 'a=b' },
    })
    await at.role('other')
    await at.secretId('other', { metadata: 'a=b' })
    expect(await found({ metadata: { a: 'b' } })).toEqual(['destroyed', 'ended', 'kept', 'spent'])

    clock.advance(1)
    await at.login({ roleId: 'r-id', secretId: made['spent']?.secretId ?? '' })
    await at
      .at('role/r/secret-id-accessor/destroy')
      .write({ secret_id_accessor: made['destroyed']?.accessor ?? '' })

    expect(await found({ metadata: { a: 'b' } })).toEqual(['kept'])
  })

  test('goes on after `next`', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 25 }, (_, at) => [`s${at}`, { metadata: `n=${at % 2}` }]),
    )
    const { search, at, made } = await aRole(many)
    const wanted = Object.entries(made).filter(([name]) => Number(name.slice(1)) % 2 === 1)

    const keys: string[] = []
    let after = ''
    let calls = 0
    do {
      const { data } = (await search({ metadata: { n: '1' }, limit: 5, after })).body
      keys.push(...((data?.['keys'] ?? []) as unknown as string[]))
      after = String(data?.['next'])
      calls += 1
    } while (after !== '')

    expect(keys.toSorted()).toEqual(wanted.map(([, { accessor }]) => accessor).toSorted())
    expect(calls).toBeLessThanOrEqual(4)
    const gone = made['s1']?.accessor ?? ''
    await at.at('role/r/secret-id-accessor/destroy').write({ secret_id_accessor: gone })
    expect(told(await search({ metadata: { n: '1' }, after: gone }))).toBe(
      '400 after is the accessor of no secret id of the role: begin again without it',
    )
  })

  test.each([
    [{}, '400 no condition given'],
    [{ metadata: {} }, '400 no condition given'],
    [{ metadata: null, cidr: '', after: 'x', limit: 5 }, '400 no condition given'],
    [
      { metadata: 'a' },
      '400 failed to parse metadata: failed to parse the input: invalid <key,value> format',
    ],
    [{ cidr: 'x' }, '400 failed to validate CIDR blocks: invalid CIDR address: x'],
    [{ cidr: '10.0.0.0/8', limit: 1001 }, '400 limit must be between 1 and 1000'],
    [{ cidr: '10.0.0.0/8', limit: 0 }, '400 limit must be between 1 and 1000'],
    [{ cidr: '10.0.0.0/8' }, '200 ok'],
  ])('%j: %s', async (body, verdict) => {
    const { search } = await aRole({})

    expect(told(await search(body))).toBe(verdict)
  })

  test('a time that is none is refused, and a role that is not there is 404', async () => {
    const { at, search } = await aRole({})

    expect(told(await search({ unused_since: 'soon' }))).toMatch(
      /^400 Field validation failed: error converting input for field "unused_since": /,
    )
    expect(told(await at.at('role/no/secret-id/search').write({ cidr: '10.0.0.1' }))).toBe(
      '404 role "no" does not exist',
    )
  })

  test('nothing found is 200 with empty lists', async () => {
    const { search } = await aRole({ a: {} })

    expect(await search({ metadata: { a: 'b' } })).toMatchObject({
      status: 200,
      body: { data: { keys: [], key_info: {}, next: '' } },
    })
  })

  test('is audited with hashed metadata', async () => {
    await using folder = await temporaryFolder()
    await using audited = await startMachines({ settings: { AUDIT_DIRS: folder.path } })
    const at = await audited.mount()
    await at.role('r')
    await at.secretId('r', { metadata: 'team=shop' })
    const audit = await enableAuditFile(audited.server.root, folder.file('audit.log'))

    const entries = await audit.during(() =>
      at.at('role/r/secret-id/search').write({ metadata: { team: 'shop' } }),
    )

    expect(entries[0]).toMatchObject({
      request: { data: { metadata: { team: expect.stringMatching(/^hmac-sha256:/) } } },
    })
    expect(audit.text()).not.toContain('shop')
  })
})
