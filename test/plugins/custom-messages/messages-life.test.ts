import { describe, expect, test } from 'vitest'
import { StorageFaults } from '../../../src/storage/faults.ts'
import { inside } from '../../support/client.ts'
import { damage } from '../../support/damage.ts'
import { caused, errors, notAccepted, notAllowed } from '../../support/error-bodies.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { clientWith, fill, made, messagesPath, plain, startMessageFixture } from './message-fixture.ts'

const keysOf = (body: { data?: unknown }) => (body.data as { keys?: string[] } | undefined)?.keys

describe('the active window', () => {
  test('active follows the clock to the nanosecond, and both bounds are exclusive', async () => {
    await using fixture = await startMessageFixture()
    const bounds = {
      'starts now': { start_time: '2024-06-01T12:00:00Z' },
      'started a nanosecond ago': { start_time: '2024-06-01T11:59:59.999999999Z' },
      'starts in a nanosecond': { start_time: '2024-06-01T12:00:00.000000001Z' },
      'ends now': { end_time: '2024-06-01T12:00:00Z' },
      'ends in a nanosecond': { end_time: '2024-06-01T12:00:00.000000001Z' },
      'ends in a millisecond': { end_time: '2024-06-01T12:00:00.001Z' },
      'is over': { end_time: '2024-06-01T11:00:00Z' },
      'is to come': { start_time: '2024-06-01T13:00:00Z', end_time: '2024-06-01T14:00:00Z' },
    }
    const ids = new Map<string, string>()
    for (const [title, window] of Object.entries(bounds))
      ids.set(title, await made(fixture, { title, ...window }))
    const active = async () => {
      const read = await Promise.all(
        [...ids].map(async ([title, id]) => ({
          title,
          active: (await fixture.root.read(`${messagesPath}/${id}`)).body.data?.['active'],
        })),
      )
      const listed = (await fixture.root.list(`${messagesPath}?active=true`)).body.data?.['key_info'] ?? {}
      const titles = read.filter((one) => String(one.active) === 'true').map(({ title }) => title)
      expect(
        Object.values(listed)
          .map((entry) => String(entry['title']))
          .sort(),
      ).toEqual([...titles].sort())
      return titles
    }

    expect(await active()).toEqual([
      'started a nanosecond ago',
      'ends in a nanosecond',
      'ends in a millisecond',
    ])
    fixture.clock.advance(0.001)
    expect(await active()).toEqual(['starts now', 'started a nanosecond ago', 'starts in a nanosecond'])
    fixture.clock.advance(3600)
    expect(await active()).toEqual([
      'starts now',
      'started a nanosecond ago',
      'starts in a nanosecond',
      'is to come',
    ])
    fixture.clock.advance(3600)
    expect(await active()).toEqual(['starts now', 'started a nanosecond ago', 'starts in a nanosecond'])
  })
})

describe('messages and namespaces', () => {
  test('each namespace has its own messages', async () => {
    await using fixture = await startMessageFixture()
    await fixture.root.write('sys/namespaces/a')
    await fixture.root.write('sys/namespaces/b', undefined, inside('a'))
    const [root, a, b] = [
      await made(fixture),
      await made(fixture, {}, inside('a').headers),
      await made(fixture, {}, inside('a/b').headers),
    ]

    expect(keysOf((await fixture.root.list(messagesPath)).body)).toEqual([root])
    expect(keysOf((await fixture.root.list(`a/${messagesPath}`)).body)).toEqual([a])
    expect(keysOf((await fixture.root.list(messagesPath, inside('a/b'))).body)).toEqual([b])
    for (const id of [root, b]) {
      const path = `a/${messagesPath}/${id}`
      expect(await fixture.root.read(path)).toMatchObject({
        status: 404,
        body: errors(caused('custom message not found')),
      })
      expect((await fixture.root.write(path, plain)).status).toBe(404)
      expect((await fixture.root.delete(path)).status).toBe(204)
    }
    expect((await fixture.root.read(`${messagesPath}/${root}`)).status).toBe(200)
    expect((await fixture.root.read(`a/b/${messagesPath}/${b}`)).status).toBe(200)
  })

  test('a deleted namespace takes its messages with it, and a new one of that name has none', async () => {
    await using fixture = await startMessageFixture()
    await fixture.root.write('sys/namespaces/a')
    await fill(fixture, 3, inside('a').headers)

    await fixture.root.delete('sys/namespaces/a')
    while ((await fixture.root.read('sys/namespaces/a')).status !== 404);
    await fixture.root.write('sys/namespaces/a')

    expect((await fixture.root.list(`a/${messagesPath}`)).status).toBe(404)
  })
})

describe('the community edition', () => {
  test('nobody can manage messages there, whatever their rights', async () => {
    await using fixture = await startMessageFixture({ settings: { EDITION: 'community' } })
    const unsupported = { status: 404, body: errors(caused('unsupported path')) }

    for (const path of [
      messagesPath,
      `${messagesPath}/some-id`,
      `${messagesPath}/preview`,
      `${messagesPath}/some-id/acks`,
    ]) {
      for (const verb of ['GET', 'LIST', 'POST', 'PUT', 'DELETE', 'PATCH']) {
        const sent = verb === 'POST' || verb === 'PUT' || verb === 'PATCH' ? plain : undefined
        const options =
          verb === 'PATCH' ? { headers: { 'Content-Type': 'application/merge-patch+json' } } : {}
        expect(await fixture.root.call(verb, path, sent, options)).toMatchObject(unsupported)
      }
    }
    expect(await fixture.anonymous.write(messagesPath, plain)).toMatchObject({
      status: 403,
      body: notAccepted,
    })
    expect(await (await clientWith(fixture, 'other', 'read')).write(messagesPath, plain)).toMatchObject({
      status: 403,
      body: notAllowed,
    })
  })

  test('messages written earlier are kept for a later change of edition', async () => {
    await using folder = await temporaryFolder()
    const settings = { STORAGE: `sqlite:${folder.file('g.db')}`, SEAL_KEY_FILE: folder.file('seal.key') }
    const first = await startMessageFixture({ settings })
    const id = await made(first)
    await first[Symbol.asyncDispose]()
    const second = await startMessageFixture({ settings: { ...settings, EDITION: 'community' } })
    expect((await second.root.read(`${messagesPath}/${id}`)).status).toBe(404)
    await second[Symbol.asyncDispose]()

    await using third = await startMessageFixture({ settings })

    expect((await third.root.read(`${messagesPath}/${id}`)).status).toBe(200)
  })

  test('an unknown edition is refused', async () => {
    await expect(startMessageFixture({ settings: { EDITION: 'Enterprise' } })).rejects.toThrow(
      'GATEHOUSE_EDITION',
    )
  })
})

describe('messages in storage', () => {
  test('a failed write is refused with the cause, changes nothing and takes no place', async () => {
    const faults = new StorageFaults()
    await using fixture = await startMessageFixture({ faults })
    const [id = ''] = await fill(fixture, 99)
    const path = `${messagesPath}/${id}`
    const before = (await fixture.root.read(path)).body.data
    const failing = async (failure: 'full' | 'read-only' | 'io', call: () => Promise<unknown>) => {
      faults.arm('storage.before-commit', failure)
      return call()
    }

    expect(await failing('full', () => fixture.root.write(messagesPath, plain))).toMatchObject({
      status: 400,
      body: errors('failed to create custom message: storage is full'),
    })
    expect(await failing('read-only', () => fixture.root.write(path, plain))).toMatchObject({
      status: 400,
      body: errors('failed to update custom message: storage is read-only'),
    })
    expect(await failing('io', () => fixture.root.delete(path))).toMatchObject({
      status: 400,
      body: errors('failed to delete custom message: storage is unavailable'),
    })

    expect((await fixture.root.read(path)).body.data).toEqual(before)
    expect((await fixture.root.write(messagesPath, plain)).status).toBe(200)
    expect((await fixture.root.write(messagesPath, plain)).status).toBe(400)
    expect(keysOf((await fixture.root.list(messagesPath)).body)).toHaveLength(100)
  })

  test('of messages that arrive at once, each is refused for itself', async () => {
    await using folder = await temporaryFolder()
    const settings = { STORAGE: `sqlite:${folder.file('g.db')}`, SEAL_KEY_FILE: folder.file('seal.key') }
    const faults = new StorageFaults()
    await using fixture = await startMessageFixture({ settings, faults })
    const [id = ''] = await fill(fixture, 60)
    faults.delay('storage.before-commit', 5)

    const [tooLate, gone, ...answers] = await Promise.all([
      fixture.root.write(messagesPath, { ...plain, start_time: '10000-01-01T00:00:00Z' }),
      fixture.root.write(`${messagesPath}/no-such-id`, plain),
      fixture.root.write(`${messagesPath}/${id}`, { ...plain, title: 'changed' }),
      ...Array.from({ length: 44 }, () => fixture.root.write(messagesPath, plain)),
    ])

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(41)
    const full = errors('failed to create custom message: maximum number of messages already exist')
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.map(({ status, body }) => ({ status, body }))).toEqual(
      Array(4).fill({ status: 400, body: full }),
    )
    expect([tooLate?.status, gone?.status]).toEqual([400, 404])
    expect((await fixture.root.read(`${messagesPath}/${id}`)).body.data?.['title']).toBe('changed')
    const kept = keysOf((await fixture.root.list(messagesPath)).body) ?? []
    expect(kept).toHaveLength(100)

    const deleted = await Promise.all(kept.map((one) => fixture.root.delete(`${messagesPath}/${one}`)))

    expect(new Set(deleted.map(({ status }) => status))).toEqual(new Set([204]))
    expect((await fixture.root.list(messagesPath)).status).toBe(404)
  })

  test('a record that cannot be read is an error until it is deleted', async () => {
    await using folder = await temporaryFolder()
    const settings = { STORAGE: `sqlite:${folder.file('g.db')}`, SEAL_KEY_FILE: folder.file('seal.key') }
    const first = await startMessageFixture({ settings })
    const ids = [...(await fill(first, 2)), await made(first, { effect: 'read_only' })]
    await first[Symbol.asyncDispose]()
    const broken = damage(folder.file('g.db'), '%message/root/%').split('/').at(-1) ?? ''
    await using fixture = await startMessageFixture({ settings })
    const whole = ids.filter((id) => id !== broken)
    const failed = (what: string) => ({ status: 400, body: errors(`failed to ${what}: internal error`) })

    expect(whole).toHaveLength(2)
    expect(await fixture.root.list(messagesPath)).toMatchObject(failed('retrieve list of custom messages'))
    expect(await fixture.root.read(`${messagesPath}/${whole[0]}`)).toMatchObject(
      failed('retrieve custom message'),
    )
    expect(await fixture.root.write(messagesPath, plain)).toMatchObject(failed('create custom message'))
    expect(await fixture.root.write(`${messagesPath}/${whole[0]}`, plain)).toMatchObject(
      failed('update custom message'),
    )

    // it must not stop every write, and no other message of the namespace does
    expect((await fixture.root.write('cubbyhole/a', { b: 'c' })).status).toBe(204)
    expect((await fixture.root.delete(`${messagesPath}/${broken}`)).status).toBe(204)
    expect([...(keysOf((await fixture.root.list(messagesPath)).body) ?? [])].sort()).toEqual(
      [...whole].sort(),
    )
  })

  test('messages survive a restart', async () => {
    await using folder = await temporaryFolder()
    const settings = { STORAGE: `sqlite:${folder.file('g.db')}`, SEAL_KEY_FILE: folder.file('seal.key') }
    const first = await startMessageFixture({ settings })
    const id = await made(first, {
      start_time: '2024-01-01T00:00:00.123456789Z',
      type: 'modal',
      options: { n: 2.5, deep: { list: [null] } },
      link: { 'Learn "more"': 'javascript:x' },
      severity: 'warning',
      priority: 9,
      audience: { policies: ['ops'] },
    })
    await fill(first, 5)
    const before = [
      (await first.root.read(`${messagesPath}/${id}`)).body.data,
      (await first.root.list(messagesPath)).body.data,
    ]
    await first[Symbol.asyncDispose]()

    await using next = await startMessageFixture({ settings })

    expect([
      (await next.root.read(`${messagesPath}/${id}`)).body.data,
      (await next.root.list(messagesPath)).body.data,
    ]).toEqual(before)
  })

  test('a message may be as large as a body may be', async () => {
    await using fixture = await startMessageFixture()
    const message = 'QUJD'.repeat(5 * 1024 * 1024)

    const id = await made(fixture, { message })

    expect((await fixture.root.read(`${messagesPath}/${id}`)).body.data?.['message']).toBe(message)
    expect(
      await fixture.root.write(messagesPath, {
        ...plain,
        message: message + message.slice(0, 4 * 1024 * 1024),
      }),
    ).toMatchObject({
      status: 400,
      body: errors('failed to create custom message: the messages of this namespace take too much space'),
    })
  })
})
