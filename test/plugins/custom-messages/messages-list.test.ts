import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors, errorText } from '../../support/error-bodies.ts'
import {
  clientWith,
  type MessageFixture,
  made,
  messagesPath,
  startMessageFixture,
} from './message-fixture.ts'

const unwanted = 'Endpoint ignored these unrecognized parameters: [foo]'
const ignoredType = 'Endpoint ignored the unrecognized value of the type filter'

test('the list of an empty namespace is 404, or has only the warnings', async () => {
  await using fixture = await startMessageFixture()

  expect(await fixture.root.call('LIST', messagesPath)).toMatchObject({ status: 404, body: errors() })
  expect(await fixture.root.list(`${messagesPath}?type=fred`)).toMatchObject({ status: 404, body: errors() })
  expect(await fixture.root.call('LIST', `${messagesPath}?foo=1`)).toMatchObject({
    status: 200,
    body: { data: {}, warnings: [unwanted] },
  })
  expect(await fixture.root.call('LIST', `${messagesPath}?list=true`)).toMatchObject({
    status: 200,
    body: { data: {} },
  })
})

describe('the list of messages', () => {
  let fixture: MessageFixture
  let banner: string
  let modal: string
  let scheduled: string
  beforeAll(async () => {
    fixture = await startMessageFixture()
    banner = await made(fixture, { title: 'banner', options: { a: 1 }, link: { a: 'b' } })
    modal = await made(fixture, { title: 'modal', type: 'modal', authenticated: false })
    scheduled = await made(fixture, {
      title: 'later',
      start_time: '2030-01-01T00:00:00.5Z',
      end_time: '2031-01-01T00:00:00Z',
    })
  })
  afterAll(() => fixture[Symbol.asyncDispose]())
  const names = () => ({ banner, modal, scheduled })

  const entry = {
    title: 'banner',
    type: 'banner',
    authenticated: true,
    start_time: '2024-01-01T00:00:00Z',
    end_time: null,
    active: true,
  }
  test.each([
    { verb: 'LIST', path: messagesPath },
    { verb: 'GET', path: `${messagesPath}?list=true` },
    { verb: 'GET', path: `${messagesPath}/?list=1` },
    { verb: 'LIST', path: `${messagesPath}/` },
  ])('$verb $path lists all messages', async ({ verb, path }) => {
    const { status, body } = await fixture.root.call(verb, path)

    expect(status).toBe(200)
    expect(body.warnings).toBeNull()
    expect(body.data?.['keys']?.[0]).toBe(scheduled)
    expect(body.data?.['key_info']).toEqual({
      [banner]: entry,
      [modal]: { ...entry, title: 'modal', type: 'modal', authenticated: false },
      [scheduled]: {
        ...entry,
        title: 'later',
        start_time: '2030-01-01T00:00:00.5Z',
        end_time: '2031-01-01T00:00:00Z',
        active: false,
      },
    })
  })

  test('an invalid value of list is refused', async () => {
    expect(await fixture.root.read(`${messagesPath}?list=maybe`)).toMatchObject({
      status: 400,
      body: errors(),
    })
  })

  type Name = keyof ReturnType<typeof names>
  test.each<{ query: string; found: Name[]; warnings?: string[] }>([
    { query: 'authenticated=false', found: ['modal'] },
    { query: 'authenticated=true', found: ['banner', 'scheduled'] },
    { query: 'type=banner', found: ['banner', 'scheduled'] },
    { query: 'type=modal', found: ['modal'] },
    { query: 'type=fred', found: ['banner', 'modal', 'scheduled'], warnings: [ignoredType] },
    { query: 'type=', found: ['banner', 'modal', 'scheduled'], warnings: [ignoredType] },
    { query: 'type=BANNER', found: ['banner', 'modal', 'scheduled'], warnings: [ignoredType] },
    { query: 'type=fred&active=1&foo=1', found: ['banner', 'modal'], warnings: [ignoredType, unwanted] },
    { query: 'active=true', found: ['banner', 'modal'] },
    { query: 'active=false', found: ['scheduled'] },
    { query: 'active=true&authenticated=false&type=modal', found: ['modal'] },
    { query: 'authenticated=', found: ['modal'] },
    { query: 'active=T', found: ['banner', 'modal'] },
  ])('$query finds $found', async ({ query, found, warnings }) => {
    const { status, body } = await fixture.root.call('LIST', `${messagesPath}?${query}`)

    expect(status).toBe(200)
    expect([...((body.data?.['keys'] ?? []) as unknown as string[])].sort()).toEqual(
      found.map((name) => names()[name]).sort(),
    )
    expect(Object.keys(body.data?.['key_info'] ?? {}).sort()).toEqual(
      found.map((name) => names()[name]).sort(),
    )
    expect(body.warnings).toEqual(warnings ?? null)
  })

  test.each(['type=banner&authenticated=false', 'active=false&type=modal'])(
    '%s finds nothing',
    async (query) => {
      expect(await fixture.root.call('LIST', `${messagesPath}?${query}`)).toMatchObject({
        status: 404,
        body: errors(),
      })
    },
  )

  test.each([
    'authenticated=fred',
    'active=fred',
    'type=banner&type=modal',
    'authenticated=true&authenticated=true',
  ])('the filter %s is invalid', async (query) => {
    const { status, body } = await fixture.root.call('LIST', `${messagesPath}?${query}`)

    expect(status).toBe(400)
    expect(errorText(body)).toMatch(/^Field validation failed: error converting input/)
  })

  test.each(['', '/'])('the right to list may be granted on the path with "%s" after it', async (slash) => {
    const client = await clientWith(fixture, `${messagesPath}${slash}`, 'list')

    expect((await client.call('LIST', messagesPath)).status).toBe(200)
    expect((await client.call('LIST', `${messagesPath}/`)).status).toBe(200)
    expect((await client.read(`${messagesPath}/${banner}`)).status).toBe(403)
  })

  test('the order is stable, also after a change to another field', async () => {
    const keys = async () => (await fixture.root.list(messagesPath)).body.data?.['keys']
    const before = await keys()
    await fixture.root.write(`${messagesPath}/${banner}`, {
      title: 'banner',
      message: '',
      start_time: '2024-01-01T00:00:00Z',
      options: { a: 1 },
    })

    expect(await keys()).toEqual(before)
    expect(before).toEqual([scheduled, ...[banner, modal].sort()])
  })

  test('after and limit use the position in the list', async () => {
    const keys = async (query: string) =>
      (await fixture.root.list(`${messagesPath}?${query}`)).body.data?.['keys']
    const all = [scheduled, ...[banner, modal].sort()]

    expect(await keys('limit=2')).toEqual(all.slice(0, 2))
    expect(await keys(`limit=2&after=${all[1]}`)).toEqual(all.slice(2))
    expect(await keys(`after=${all[0]}`)).toEqual(all.slice(1))
    expect((await fixture.root.list(`${messagesPath}?after=none`)).status).toBe(404)
  })
})
