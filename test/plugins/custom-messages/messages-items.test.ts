import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { caused, errors, errorText, notAllowed } from '../../support/error-bodies.ts'
import {
  clientWith,
  type MessageFixture,
  made,
  messagesPath,
  plain,
  startMessageFixture,
  without,
} from './message-fixture.ts'

const notFound = errors(caused('custom message not found'))
const failed = (text: string) => `failed to update custom message: ${text}`
const reversed = { end_time: '2000-01-01T00:00:00Z' }
const twoLinks = { link: { a: 'x', b: 'y' } }
const mergePatch = { headers: { 'Content-Type': 'application/merge-patch+json' } }
const modal = {
  type: 'modal',
  authenticated: false,
  end_time: '2100-01-01T00:00:00Z',
  link: { 'Click Here': 'www.example.com' },
  options: { color: 'red', deep: { list: [1, 2] } },
}

let fixture: MessageFixture
let id: string
let path: string
beforeAll(async () => {
  fixture = await startMessageFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())
beforeEach(async () => {
  id = await made(fixture, modal)
  path = `${messagesPath}/${id}`
  return async () => {
    await fixture.root.delete(path)
  }
})
const stored = async () => (await fixture.root.read(path)).body.data
const patch = (sent: unknown, at = path) => fixture.root.call('PATCH', at, sent, mergePatch)

describe('reading, updating and deleting a message', () => {
  test('a message has ten keys', async () => {
    expect(await stored()).toEqual({ ...plain, ...modal, id, active: true })
    const bare = await made(fixture)
    expect((await fixture.root.read(`${messagesPath}/${bare}`)).body.data).toEqual({
      ...plain,
      id: bare,
      authenticated: true,
      type: 'banner',
      end_time: null,
      link: null,
      options: null,
      active: true,
    })
  })

  test.each([
    { verb: 'GET', at: 'def' },
    { verb: 'GET', at: 'a/b' },
    { verb: 'GET', at: 'def/' },
    { verb: 'POST', at: 'abc' },
    { verb: 'PUT', at: 'a/b/' },
    { verb: 'POST', at: 'abc', with: reversed },
    { verb: 'POST', at: 'abc', with: { type: 'something' } },
    { verb: 'PATCH', at: 'abc' },
    { verb: 'PATCH', at: 'abc', with: { title: null, ...twoLinks } },
  ])('$verb of $at with $with finds nothing', async ({ verb, at, with: fields = {} }) => {
    const sent = verb === 'GET' ? undefined : { ...plain, ...fields }

    expect(
      await fixture.root.call(verb, `${messagesPath}/${at}`, sent, verb === 'PATCH' ? mergePatch : {}),
    ).toMatchObject({ status: 404, body: notFound })
  })

  test.each([
    { at: 'abc', sent: without('title'), text: 'missing title parameter value' },
    {
      at: 'abc',
      sent: { ...plain, message: 'Q' },
      text: 'invalid message parameter value, must be base64 encoded',
    },
    { at: 'abc', sent: without('start_time'), text: 'missing start_time parameter value' },
    {
      at: 'abc',
      sent: { ...without('start_time'), ...twoLinks },
      text: 'invalid number of elements in link parameter value; only a single element can be provided',
    },
    {
      at: 'abc',
      sent: { ...plain, authenticated: 'fred' },
      text: `Field validation failed: error converting input for field "authenticated": '' cannot parse value as 'bool': strconv.ParseBool: invalid syntax`,
    },
    {
      at: '',
      sent: { ...plain, ...reversed },
      text: failed('message start time must occur before end time'),
    },
    { at: '', sent: { ...plain, type: 'something' }, text: failed('unrecognized message type') },
    {
      at: '',
      sent: { ...plain, ...reversed, type: 'something' },
      text: failed('message start time must occur before end time'),
    },
  ])('an update with $sent is refused and changes nothing: $text', async ({ at, sent, text }) => {
    const before = await stored()

    expect(await fixture.root.write(at === '' ? path : `${messagesPath}/${at}`, sent)).toMatchObject({
      status: 400,
      body: errors(text),
    })
    expect(await stored()).toEqual(before)
  })

  test('an update to a year that no text can express is refused', async () => {
    const { status, body } = await fixture.root.write(path, { ...plain, end_time: 253402300800 })

    expect(status).toBe(400)
    expect(errorText(body)).toMatch(/^failed to update custom message: .*year outside of range \[0,9999\]$/)
  })

  test.each([
    { verb: 'POST', slash: '' },
    { verb: 'PUT', slash: '' },
    { verb: 'POST', slash: '/' },
  ])('$verb with "$slash" after the path replaces the whole message', async ({ verb, slash }) => {
    const whole = { ...plain, start_time: '2030-01-01T00:00:00Z' }

    const answer = await fixture.root.call(verb, path + slash, whole)

    const after = {
      ...whole,
      id,
      active: false,
      authenticated: true,
      type: 'banner',
      end_time: null,
      link: null,
      options: null,
    }
    expect(answer).toMatchObject({ status: 200, body: { data: after, warnings: null } })
    expect(await stored()).toEqual(after)
  })

  test('the id in the path overrides one in the body', async () => {
    const answer = await fixture.root.write(path, { ...plain, id: 'other', foo: 1 })

    expect(answer.body.warnings).toEqual([
      'Endpoint ignored these unrecognized parameters: [foo]',
      "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [id]",
    ])
    expect(answer.body.data?.['id']).toBe(id)
  })

  test.each(['', '/'])('deleting a message is 204, known or not, with "%s" after the path', async (slash) => {
    for (let time = 0; time < 2; time += 1) {
      expect(await fixture.root.delete(path + slash)).toMatchObject({ status: 204, text: '' })
      expect((await fixture.root.read(path)).status).toBe(404)
    }
  })

  test.each([
    { capability: 'create', verb: 'POST' },
    { capability: 'update', verb: 'PATCH' },
    { capability: 'patch', verb: 'POST' },
    { capability: 'update', verb: 'DELETE' },
    { capability: 'list', verb: 'GET' },
  ])('$capability is not enough for $verb', async ({ capability, verb }) => {
    const client = await clientWith(fixture, `${messagesPath}/*`, capability)

    expect(
      await client.call(verb, path, verb === 'GET' || verb === 'DELETE' ? undefined : plain, mergePatch),
    ).toMatchObject({ status: 403, body: notAllowed })
  })

  test.each([
    { capability: 'read', verb: 'GET', status: 200 },
    { capability: 'update', verb: 'POST', status: 200 },
    { capability: 'patch', verb: 'PATCH', status: 200 },
    { capability: 'delete', verb: 'DELETE', status: 204 },
  ])(
    '$capability on an item is enough for $verb, also with a trailing slash',
    async ({ capability, verb, status }) => {
      const client = await clientWith(fixture, path, capability)

      const sent = verb === 'GET' || verb === 'DELETE' ? undefined : plain
      expect((await client.call(verb, `${path}/`, sent, mergePatch)).status).toBe(status)
      expect((await client.call(verb, `${messagesPath}/other`, sent, mergePatch)).status).toBe(403)
    },
  )
})

describe('a merge patch of a message', () => {
  const whole = () => ({ ...plain, ...modal, id, active: true })

  test.each<{ what: string; sent: object; after: object }>([
    { what: 'nothing', sent: {}, after: {} },
    {
      what: 'a window',
      sent: { start_time: '2030-01-01T00:00:00Z' },
      after: { start_time: '2030-01-01T00:00:00Z', active: false },
    },
    { what: 'no end any more', sent: { end_time: null }, after: { end_time: null } },
    { what: 'no link any more', sent: { link: null }, after: { link: null } },
    {
      what: 'the address of the link',
      sent: { link: { 'Click Here': 'https://x' } },
      after: { link: { 'Click Here': 'https://x' } },
    },
    {
      what: 'another link',
      sent: { link: { 'Click Here': null, There: 'https://x' } },
      after: { link: { There: 'https://x' } },
    },
    { what: 'the default type', sent: { type: null }, after: { type: 'banner' } },
    { what: 'the default audience', sent: { authenticated: null }, after: { authenticated: true } },
    {
      what: 'parts of the options',
      sent: { options: { color: null, deep: { more: 1.5 } } },
      after: { options: { deep: { list: [1, 2], more: 1.5 } } },
    },
    {
      what: 'a list in the options',
      sent: { options: { deep: [null] } },
      after: { options: { color: 'red', deep: [null] } },
    },
    { what: 'no options any more', sent: { options: null }, after: { options: null } },
  ])('$what: $sent', async ({ sent, after }) => {
    const answer = await patch(sent)

    expect(answer).toMatchObject({ status: 200, body: { warnings: null } })
    expect(answer.body.data).toEqual({ ...whole(), ...after })
    expect(await stored()).toEqual({ ...whole(), ...after })
  })

  test.each([
    { sent: { title: null }, text: 'missing title parameter value' },
    { sent: { message: null }, text: 'missing message parameter value' },
    { sent: { message: 'Q' }, text: 'invalid message parameter value, must be base64 encoded' },
    { sent: { start_time: null }, text: 'missing start_time parameter value' },
    {
      sent: { link: { There: 'https://x' }, start_time: null },
      text: 'invalid number of elements in link parameter value; only a single element can be provided',
    },
    {
      sent: { start_time: '2100-01-01T00:00:00Z' },
      text: failed('message start time must occur before end time'),
    },
    { sent: { type: 'x' }, text: failed('unrecognized message type') },
    {
      sent: { title: [] },
      text: `Field validation failed: error converting input for field "title": '' expected type 'string', got unconvertible type '[]interface {}'`,
    },
  ])('$sent is refused and changes nothing', async ({ sent, text }) => {
    expect(await patch(sent)).toMatchObject({ status: 400, body: errors(text) })
    expect(await stored()).toEqual(whole())
  })

  test('an invalid field is reported before an unknown id', async () => {
    expect((await patch({ title: [] }, `${messagesPath}/abc`)).status).toBe(400)
  })

  test('an unknown field and an id in the body are reported', async () => {
    expect((await patch({ foo: 1, id: 'x' })).body.warnings).toHaveLength(2)
    expect((await stored())?.['id']).toBe(id)
  })

  test('only the content type of a merge patch is accepted', async () => {
    const json = { headers: { 'Content-Type': 'application/json' } }

    expect((await fixture.root.call('PATCH', path, {}, json)).status).toBe(415)
    expect((await fixture.root.call('PATCH', path, {})).status).toBe(400)
  })

  test('fifty concurrent patches all take effect', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => patch({ options: { [`n${index}`]: index } })))

    const options = (await stored())?.['options'] ?? {}
    expect(Object.keys(options)).toHaveLength(52)
  })

  test('after concurrent patches and a delete, the message is deleted', async () => {
    const answers = await Promise.all([
      patch({ title: 'a' }),
      patch({ title: 'b' }),
      fixture.root.delete(path),
      patch({ title: 'c' }),
    ])

    expect(answers[2]?.status).toBe(204)
    for (const { status } of answers) expect([200, 204, 404]).toContain(status)
    expect((await fixture.root.read(path)).status).toBe(404)
    expect((await fixture.root.list(messagesPath)).text).not.toContain(id)
  })
})
