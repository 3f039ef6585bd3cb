import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errors, errorText } from '../../support/error-bodies.ts'
import { clientWith, type MessageHouse, made, messagesPath, startMessageHouse } from './message-house.ts'

const unwanted = 'Endpoint ignored these unrecognized parameters: [foo]'
const ignoredType = 'Endpoint ignored the unrecognized value of the type filter'

test('an empty namespace', async () => {
  await using house = await startMessageHouse()

  expect(await house.root.call('LIST', messagesPath)).toMatchObject({ status: 404, body: errors() })
  expect(await house.root.list(`${messagesPath}?type=fred`)).toMatchObject({ status: 404, body: errors() })
  expect(await house.root.call('LIST', `${messagesPath}?foo=1`)).toMatchObject({ status: 200, body: { data: {}, warnings: [unwanted] } })
  expect(await house.root.call('LIST', `${messagesPath}?list=true`)).toMatchObject({ status: 200, body: { data: {} } })
})

describe('the list of messages', () => {
  let house: MessageHouse
  let banner: string
  let modal: string
  let scheduled: string
  beforeAll(async () => {
    house = await startMessageHouse()
    banner = await made(house, { title: 'banner', options: { a: 1 }, link: { a: 'b' } })
    modal = await made(house, { title: 'modal', type: 'modal', authenticated: false })
    scheduled = await made(house, { title: 'later', start_time: '2030-01-01T00:00:00.5Z', end_time: '2031-01-01T00:00:00Z' })
  })
  afterAll(() => house[Symbol.asyncDispose]())
  const names = () => ({ banner, modal, scheduled })

  const entry = { title: 'banner', type: 'banner', authenticated: true, start_time: '2024-01-01T00:00:00Z', end_time: null, active: true }
  test.each([
    { verb: 'LIST', path: messagesPath },
    { verb: 'GET', path: `${messagesPath}?list=true` },
    { verb: 'GET', path: `${messagesPath}/?list=1` },
    { verb: 'LIST', path: `${messagesPath}/` },
  ])('$verb $path', async ({ verb, path }) => {
    const { status, body } = await house.root.call(verb, path)

    expect(status).toBe(200)
    expect(body.warnings).toBeNull()
    expect(body.data?.['keys']?.[0]).toBe(scheduled)
    expect(body.data?.['key_info']).toEqual({
      [banner]: entry,
      [modal]: { ...entry, title: 'modal', type: 'modal', authenticated: false },
      [scheduled]: { ...entry, title: 'later', start_time: '2030-01-01T00:00:00.5Z', end_time: '2031-01-01T00:00:00Z', active: false },
    })
  })

  test('a wish for a list that is none', async () => {
    expect(await house.root.read(`${messagesPath}?list=maybe`)).toMatchObject({ status: 400, body: errors() })
  })

  type Name = keyof ReturnType<typeof names>
  test.each<{ row: string; query: string; found: Name[]; warnings?: string[] }>([
    { row: '92', query: 'authenticated=false', found: ['modal'] },
    { row: '92', query: 'authenticated=true', found: ['banner', 'scheduled'] },
    { row: '94', query: 'type=banner', found: ['banner', 'scheduled'] },
    { row: '94', query: 'type=modal', found: ['modal'] },
    { row: '95', query: 'type=fred', found: ['banner', 'modal', 'scheduled'], warnings: [ignoredType] },
    { row: '95', query: 'type=', found: ['banner', 'modal', 'scheduled'], warnings: [ignoredType] },
    { row: '95', query: 'type=BANNER', found: ['banner', 'modal', 'scheduled'], warnings: [ignoredType] },
    { row: '95', query: 'type=fred&active=1&foo=1', found: ['banner', 'modal'], warnings: [ignoredType, unwanted] },
    { row: '97', query: 'active=true', found: ['banner', 'modal'] },
    { row: '97, 99', query: 'active=false', found: ['scheduled'] },
    { row: '98', query: 'active=true&authenticated=false&type=modal', found: ['modal'] },
    { row: '100', query: 'authenticated=', found: ['modal'] },
    { row: '1.3', query: 'active=T', found: ['banner', 'modal'] },
  ])('$row: $query', async ({ query, found, warnings }) => {
    const { status, body } = await house.root.call('LIST', `${messagesPath}?${query}`)

    expect(status).toBe(200)
    expect([...((body.data?.['keys'] ?? []) as unknown as string[])].sort()).toEqual(found.map((name) => names()[name]).sort())
    expect(Object.keys(body.data?.['key_info'] ?? {}).sort()).toEqual(found.map((name) => names()[name]).sort())
    expect(body.warnings).toEqual(warnings ?? null)
  })

  test.each(['type=banner&authenticated=false', 'active=false&type=modal'])('%s finds nothing', async (query) => {
    expect(await house.root.call('LIST', `${messagesPath}?${query}`)).toMatchObject({ status: 404, body: errors() })
  })

  test.each(['authenticated=fred', 'active=fred', 'type=banner&type=modal', 'authenticated=true&authenticated=true'])(
    '%s cannot be read',
    async (query) => {
      const { status, body } = await house.root.call('LIST', `${messagesPath}?${query}`)

      expect(status).toBe(400)
      expect(errorText(body)).toMatch(/^Field validation failed: error converting input/)
    },
  )

  test.each(['', '/'])('the right to list, on the path with "%s" behind', async (slash) => {
    const client = await clientWith(house, `${messagesPath}${slash}`, 'list')

    expect((await client.call('LIST', messagesPath)).status).toBe(200)
    expect((await client.call('LIST', `${messagesPath}/`)).status).toBe(200)
    expect((await client.read(`${messagesPath}/${banner}`)).status).toBe(403)
  })

  test('the order is the same each time, and after a change of something else', async () => {
    const keys = async () => (await house.root.list(messagesPath)).body.data?.['keys']
    const before = await keys()
    await house.root.write(`${messagesPath}/${banner}`, { title: 'banner', message: '', start_time: '2024-01-01T00:00:00Z', options: { a: 1 } })

    expect(await keys()).toEqual(before)
    expect(before).toEqual([scheduled, ...[banner, modal].sort()])
  })

  test('after and limit go by the place in the list', async () => {
    const keys = async (query: string) => (await house.root.list(`${messagesPath}?${query}`)).body.data?.['keys']
    const all = [scheduled, ...[banner, modal].sort()]

    expect(await keys('limit=2')).toEqual(all.slice(0, 2))
    expect(await keys(`limit=2&after=${all[1]}`)).toEqual(all.slice(2))
    expect(await keys(`after=${all[0]}`)).toEqual(all.slice(1))
    expect((await house.root.list(`${messagesPath}?after=none`)).status).toBe(404)
  })
})
