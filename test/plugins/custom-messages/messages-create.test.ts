import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  caused,
  errors,
  errorText,
  invalidToken,
  notAccepted,
  notAllowed,
} from '../../support/error-bodies.ts'
import {
  clientWith,
  fill,
  type MessageFixture,
  made,
  messagesPath,
  plain,
  startMessageFixture,
  without,
} from './message-fixture.ts'

const unwanted = 'Endpoint ignored these unrecognized parameters'
const noDate = 'could not parse string as date and time'
const notBase64 = 'invalid message parameter value, must be base64 encoded'
const twoLinks = 'invalid number of elements in link parameter value; only a single element can be provided'
const failed = (text: string) => `failed to create custom message: ${text}`
const reversed = failed('message start time must occur before end time')
const noSuchType = failed('unrecognized message type')
const full = failed('maximum number of messages already exist')
const unconverted = (field: string, detail: string) =>
  `error converting input for field "${field}": ${detail}`
const notBool = "'' cannot parse value as 'bool': strconv.ParseBool: invalid syntax"
const wrongType = (type: string, given: string, place = '') =>
  `'${place}' expected type '${type}', got unconvertible type '${given}'`

describe('creating a message: refused', () => {
  let fixture: MessageFixture
  beforeAll(async () => {
    fixture = await startMessageFixture()
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  test.each<{ row: string; sent: unknown; text: string }>([
    { row: 'no title', sent: without('title'), text: 'missing title parameter value' },
    { row: 'no message', sent: without('message'), text: 'missing message parameter value' },
    { row: 'no start', sent: without('start_time'), text: 'missing start_time parameter value' },
    {
      row: 'null as the start',
      sent: { ...plain, start_time: null },
      text: 'missing start_time parameter value',
    },
    { row: 'no body', sent: undefined, text: 'missing title parameter value' },
    {
      row: 'a title that is a list',
      sent: { ...plain, title: [] },
      text: unconverted('title', wrongType('string', '[]interface {}')),
    },
    {
      row: 'a switch that is none',
      sent: { ...plain, authenticated: 'abc' },
      text: unconverted('authenticated', notBool),
    },
    {
      row: 'a type that is a list',
      sent: { ...plain, type: [] },
      text: unconverted('type', wrongType('string', '[]interface {}')),
    },
    {
      row: 'a message that is a map',
      sent: { ...plain, message: {} },
      text: unconverted('message', wrongType('string', 'map[string]interface {}')),
    },
    {
      row: 'a message that is not base64',
      sent: { ...plain, message: 'The message not base64 encoded.' },
      text: notBase64,
    },
    {
      row: 'a start that is not a time',
      sent: { ...plain, start_time: 'friday' },
      text: unconverted('start_time', noDate),
    },
    {
      row: 'an end that is a list',
      sent: { ...plain, end_time: [] },
      text: unconverted('end_time', 'could not parse time from input type'),
    },
    { row: 'an empty end', sent: { ...plain, end_time: '' }, text: unconverted('end_time', noDate) },
    {
      row: 'a link that is not a map',
      sent: { ...plain, link: 'not-a-map' },
      text: unconverted('link', wrongType('map[string]interface {}', 'string')),
    },
    {
      row: 'an address that is a list',
      sent: { ...plain, link: { 'click here': [] } },
      text: 'invalid url for "click here" key in link parameter value',
    },
    { row: 'two links', sent: { ...plain, link: { a: 'x', b: 'y' } }, text: twoLinks },
    {
      row: 'options that are not a map',
      sent: { ...plain, options: 'not-a-map' },
      text: unconverted('options', wrongType('map[string]interface {}', 'string')),
    },
    {
      row: 'an empty address',
      sent: { ...plain, link: { 'Click me': '' } },
      text: 'missing url for "Click me" key in link parameter value',
    },
    {
      row: 'neither name nor address',
      sent: { ...plain, link: { '': null } },
      text: 'invalid url for "" key in link parameter value',
    },
    {
      row: 'null as an address',
      sent: { ...plain, link: { 'Click me': null } },
      text: 'invalid url for "Click me" key in link parameter value',
    },
    {
      row: 'a link without a name',
      sent: { ...plain, link: { '': 'https://www.example.org' } },
      text: 'missing title key in link parameter value',
    },
    {
      row: 'an address that is a number',
      sent: { ...plain, link: { n: 5 } },
      text: 'invalid url for "n" key in link parameter value',
    },
    { row: 'two links in a list', sent: { ...plain, link: [{ a: 'b' }, { c: 'd' }] }, text: twoLinks },
    {
      row: 'a link in the form of answers',
      sent: { ...plain, link: { title: 'Learn', href: 'https://x' } },
      text: twoLinks,
    },
    {
      row: 'a link as a list of texts',
      sent: { ...plain, link: ['a'] },
      text: unconverted('link', wrongType('map[string]interface {}', 'string', '[0]')),
    },
    {
      row: 'quotes in the name of a link',
      sent: { ...plain, link: { 'say "hi"': '' } },
      text: 'missing url for "say \\"hi\\"" key in link parameter value',
    },
    {
      row: 'a name that cannot be printed, no address',
      sent: { ...plain, link: { 'a\0\u200b\n': '' } },
      text: String.raw`missing url for "a\x00\u200b\n" key in link parameter value`,
    },
    {
      row: 'a name that cannot be printed, a number as address',
      sent: { ...plain, link: { '\u007f': 1 } },
      text: String.raw`invalid url for "\x7f" key in link parameter value`,
    },
    { row: 'an end at the start', sent: { ...plain, end_time: plain.start_time }, text: reversed },
    {
      row: 'an end a nanosecond before the start',
      sent: { ...plain, start_time: '2024-01-01T00:00:00.000000001Z', end_time: plain.start_time },
      text: reversed,
    },
    { row: 'an end before the start', sent: { ...plain, end_time: '2023-01-01T00:00:00Z' }, text: reversed },
    { row: 'unknown type', sent: { ...plain, type: 'watermark' }, text: noSuchType },
    { row: 'a type in capitals', sent: { ...plain, type: 'Banner' }, text: noSuchType },
    { row: 'an empty type', sent: { ...plain, type: '' }, text: noSuchType },
    { row: 'null as the type', sent: { ...plain, type: null }, text: noSuchType },
    {
      row: 'the end before the type',
      sent: { ...plain, type: 'watermark', end_time: '2023-01-01T00:00:00Z' },
      text: reversed,
    },
    {
      row: 'the title is there, the message is not',
      sent: { title: 't' },
      text: 'missing message parameter value',
    },
    {
      row: 'the start before the link',
      sent: { title: 't', message: '', link: { a: 'x', b: 'y' } },
      text: 'missing start_time parameter value',
    },
    ...['QUI', 'Q-_D', 'QUJD ', 'QQ==QQ==', 'Q===', '=', 'QUJ\tD', 'QUJé'].map((message) => ({
      row: `almost base64, ${JSON.stringify(message)}`,
      sent: { ...plain, message },
      text: notBase64,
    })),
    ...[2, 'yes', 'tRuE'].map((authenticated) => ({
      row: `the switch ${authenticated}`,
      sent: { ...plain, authenticated },
      text: unconverted('authenticated', notBool),
    })),
    {
      row: 'a start with a fraction',
      sent: { ...plain, start_time: 1.5 },
      text: unconverted('start_time', 'strconv.ParseInt: parsing "1.5": invalid syntax'),
    },
    ...[
      '2024-01-01',
      '2024-01-01 00:00:00Z',
      '2024-02-30T00:00:00Z',
      '2024-01-01T00:00:00',
      '2024-01-01t00:00:00z',
      '2024-01-01T24:00:00Z',
    ].map((start_time) => ({
      row: `the start ${start_time}`,
      sent: { ...plain, start_time },
      text: unconverted('start_time', noDate),
    })),
    {
      row: 'the title is read first',
      sent: Object.fromEntries(
        Object.entries({
          ...plain,
          title: [],
          authenticated: 'abc',
          message: {},
          start_time: 'x',
          link: 5,
        }).reverse(),
      ),
      text: unconverted('title', wrongType('string', '[]interface {}')),
    },
    {
      row: 'the start is read before the end',
      sent: { options: 5, link: 5, end_time: 'x', start_time: 'y', title: 't' },
      text: unconverted('start_time', noDate),
    },
  ])('$row: $sent', async ({ sent, text }) => {
    expect(await fixture.root.write(messagesPath, sent)).toMatchObject({ status: 400, body: errors(text) })
    expect((await fixture.root.list(messagesPath)).status).toBe(404)
  })

  test('a year that no text can express is refused', async () => {
    const { status, body } = await fixture.root.write(messagesPath, {
      ...plain,
      start_time: '9999-12-31T23:59:59-01:00',
    })

    expect(status).toBe(400)
    expect(errorText(body)).toMatch(/^failed to create custom message: .*year outside of range \[0,9999\]$/)
    const before = {
      ...plain,
      start_time: '9999-12-31T23:59:59-01:00',
      end_time: '9999-12-31T23:59:58-01:00',
    }
    expect(await fixture.root.write(messagesPath, before)).toMatchObject({
      status: 400,
      body: errors(reversed),
    })
  })

  test('a body that is not JSON is refused', async () => {
    const { status, body } = await fixture.root.write(messagesPath, undefined, { raw: '{' })

    expect(status).toBe(400)
    expect(errorText(body)).toMatch(/^failed to parse JSON input/)
  })

  test.each([
    { policy: 'update', sent: plain, status: 403, body: notAllowed },
    { policy: 'update', sent: { ...plain, title: [] }, status: 400, body: undefined },
    { policy: 'read', sent: { ...plain, title: [] }, status: 403, body: notAllowed },
    { policy: 'create', sent: without('title'), status: 400, body: errors('missing title parameter value') },
  ])('a token that may $policy, with $sent, gets $status', async ({ policy, sent, status, body }) => {
    const client = await clientWith(fixture, messagesPath, policy)

    const answer = await client.write(messagesPath, sent)

    expect(answer).toMatchObject({ status, ...(body === undefined ? {} : { body }) })
  })

  test('a caller without a token, or with an invalid one, is refused', async () => {
    expect(await fixture.anonymous.write(messagesPath, plain)).toMatchObject({
      status: 403,
      body: notAccepted,
    })
    expect(await fixture.as('hvs.junk').write(messagesPath, { title: [] })).toMatchObject({
      status: 403,
      body: invalidToken,
    })
  })

  test.each([
    { verb: 'GET', path: messagesPath },
    { verb: 'DELETE', path: messagesPath },
    { verb: 'DELETE', path: `${messagesPath}/` },
    { verb: 'GET', path: `${messagesPath}/` },
    { verb: 'PATCH', path: messagesPath },
    { verb: 'LIST', path: `${messagesPath}/an-id` },
    { verb: 'HEAD', path: messagesPath },
    { verb: 'HEAD', path: `${messagesPath}/an-id` },
  ])('$verb $path is not supported', async ({ verb, path }) => {
    const answer = await fixture.root.call(verb, path, verb === 'PATCH' ? {} : undefined, {
      headers: { 'Content-Type': 'application/merge-patch+json' },
    })

    expect(answer.status).toBe(405)
    if (verb !== 'HEAD') expect(answer.body).toEqual(errors(caused('unsupported operation')))
  })

  test('a PATCH of the collection with a trailing slash is refused like any write', async () => {
    const answer = await fixture.root.call(
      'PATCH',
      `${messagesPath}/`,
      {},
      { headers: { 'Content-Type': 'application/merge-patch+json' } },
    )

    expect(answer).toMatchObject({ status: 400, body: errors("cannot write to a path ending in '/'") })
  })
})

describe('creating a message: accepted', () => {
  let fixture: MessageFixture
  beforeAll(async () => {
    fixture = await startMessageFixture()
  })
  afterAll(() => fixture[Symbol.asyncDispose]())

  const answered = {
    title: 't',
    authenticated: true,
    type: 'banner',
    message: 'SGVsbG8=',
    start_time: '2024-01-01T00:00:00Z',
    end_time: null,
    link: null,
    options: null,
    active: true,
  }
  const link = (title: string, href: string) => ({ title, href })

  test.each<{ row: string; sent: object; data: object; verb?: string; path?: string; read?: object }>([
    { row: 'the least there must be', sent: {}, data: {} },
    { row: 'the least there must be, by PUT', verb: 'PUT', sent: {}, data: {} },
    {
      row: 'every field',
      sent: {
        authenticated: false,
        type: 'modal',
        end_time: '2100-01-01T00:00:00Z',
        options: { color: 'red' },
        link: { Details: 'https://s.com/d' },
      },
      data: {
        authenticated: false,
        type: 'modal',
        end_time: '2100-01-01T00:00:00Z',
        options: { color: 'red' },
        link: link('Details', 'https://s.com/d'),
      },
      read: { link: { Details: 'https://s.com/d' } },
    },
    { row: 'null as the link', sent: { link: null }, data: {} },
    { row: 'a link without entries', sent: { link: {} }, data: {} },
    { row: 'an empty list as the link', sent: { link: [] }, data: {} },
    { row: 'a link without name and address', sent: { link: { '': '' } }, data: {} },
    {
      row: 'a link in a list',
      sent: { link: [{ a: 'b' }] },
      data: { link: link('a', 'b') },
      read: { link: { a: 'b' } },
    },
    {
      row: 'a name every object has',
      sent: JSON.parse('{"link": {"__proto__": "x"}}'),
      data: { link: link('__proto__', 'x') },
    },
    { row: 'an empty title', sent: { title: '' }, data: { title: '' } },
    { row: 'null as the title', sent: { title: null }, data: { title: '' } },
    { row: 'a number as the title', sent: { title: 123 }, data: { title: '123' } },
    { row: 'a boolean as the title', sent: { title: true }, data: { title: '1' } },
    { row: 'an empty message', sent: { message: '' }, data: { message: '' } },
    { row: 'null as the message', sent: { message: null }, data: { message: '' } },
    { row: 'a line break in the message', sent: { message: 'SGVs\nbG8=' }, data: { message: 'SGVs\nbG8=' } },
    { row: 'breaks in the padding', sent: { message: 'QQ=\r\n=' }, data: { message: 'QQ=\r\n=' } },
    { row: 'padding', sent: { message: 'QUJ=' }, data: { message: 'QUJ=' } },
    { row: 'a T as a switch', sent: { authenticated: 'T' }, data: { authenticated: true } },
    { row: 'a number as a switch', sent: { authenticated: 1 }, data: { authenticated: true } },
    { row: 'a zero as text as a switch', sent: { authenticated: '0' }, data: { authenticated: false } },
    { row: 'null as a switch', sent: { authenticated: null }, data: { authenticated: false } },
    { row: 'an empty text as a switch', sent: { authenticated: '' }, data: { authenticated: false } },
    { row: 'a start with an offset', sent: { start_time: '2024-01-01T02:00:00+02:00' }, data: {} },
    { row: 'a start with a fraction of zero', sent: { start_time: '2024-01-01T00:00:00.000Z' }, data: {} },
    {
      row: 'a start with a fraction',
      sent: { start_time: '2024-01-01T00:00:00.500Z' },
      data: { start_time: '2024-01-01T00:00:00.5Z' },
    },
    {
      row: 'a start with ten digits of a fraction',
      sent: { start_time: '2024-01-01T00:00:00.1234567899Z' },
      data: { start_time: '2024-01-01T00:00:00.123456789Z' },
    },
    {
      row: 'a start in seconds',
      sent: { start_time: 1700000000 },
      data: { start_time: '2023-11-14T22:13:20Z' },
    },
    {
      row: 'a start in seconds as text',
      sent: { start_time: '1700000000' },
      data: { start_time: '2023-11-14T22:13:20Z' },
    },
    { row: 'before 1970', sent: { start_time: -1 }, data: { start_time: '1969-12-31T23:59:59Z' } },
    {
      row: 'the first year',
      sent: { start_time: '0000-01-01T00:00:00.000000001Z' },
      data: { start_time: '0000-01-01T00:00:00.000000001Z' },
    },
    { row: 'null as the end', sent: { end_time: null }, data: {} },
    { row: 'empty options', sent: { options: {} }, data: { options: {} } },
    { row: 'an empty list as the options', sent: { options: [] }, data: { options: {} } },
    {
      row: 'a list as the options',
      sent: { options: [{ a: 1 }, { a: 2, b: 3 }] },
      data: { options: { a: 2, b: 3 } },
    },
    {
      row: 'a start to come',
      sent: { start_time: '2030-01-01T00:00:00Z' },
      data: { start_time: '2030-01-01T00:00:00Z', active: false },
    },
    {
      row: 'an end that is over',
      sent: { end_time: '2024-02-01T00:00:00Z' },
      data: { end_time: '2024-02-01T00:00:00Z', active: false },
    },
    { row: 'a slash behind the path', path: `${messagesPath}/`, sent: {}, data: {} },
    { row: 'a slash behind the path, by PUT', path: `${messagesPath}/`, verb: 'PUT', sent: {}, data: {} },
  ])('$row: $sent', async ({ sent, data, verb = 'POST', path = messagesPath, read = {} }) => {
    const { status, body } = await fixture.root.call(verb, path, { ...plain, ...sent })

    const id = String(body.data?.['id'])
    expect(status).toBe(200)
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/)
    expect(body.data).toEqual({ ...answered, ...data, id })
    expect(body.warnings).toBeNull()
    const stored = await fixture.root.read(`${messagesPath}/${id}`)
    const shownLink = body.data?.['link']
    const linkMap = shownLink ? { [String(shownLink['title'])]: shownLink['href'] } : null
    expect(stored.body.data).toEqual({ ...answered, ...data, id, link: linkMap, ...read })
    await fixture.root.delete(`${messagesPath}/${id}`)
  })

  test('options keep every value, numbers their text', async () => {
    const options = '{"a":{"b":[1,2.50,null,1e300]},"__proto__":{"x":true}}'
    const raw = JSON.stringify(plain).replace(/}$/, `,"options":${options}}`)

    const created = await fixture.root.write(messagesPath, undefined, { raw })

    expect(created.text).toContain(`"options":${options}`)
    expect((await fixture.root.read(`${messagesPath}/${created.body.data?.['id']}`)).text).toContain(
      `"options":${options}`,
    )
  })

  test('undeclared fields are ignored with a warning', async () => {
    const { status, body } = await fixture.root.write(messagesPath, { ...plain, foo: 1, id: 'x' })

    expect(status).toBe(200)
    expect(body.data?.['id']).not.toBe('x')
    expect(body.warnings).toEqual([`${unwanted}: [foo id]`])
  })

  test('a trailing slash does not affect rights', async () => {
    const client = await clientWith(fixture, messagesPath, 'create')
    const other = await clientWith(fixture, `${messagesPath}/`, 'create')

    expect((await client.write(`${messagesPath}/`, plain)).status).toBe(200)
    expect(await other.write(`${messagesPath}/`, plain)).toMatchObject({ status: 403, body: notAllowed })
  })

  test('a form is accepted like JSON', async () => {
    const raw = new URLSearchParams(plain).toString()

    const { status, body } = await fixture.root.write(messagesPath, undefined, {
      raw,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    })

    expect(status).toBe(200)
    expect(body.data).toMatchObject(plain)
  })
})

describe('the limit of 100 messages', () => {
  test('a full namespace accepts no more, reports other mistakes first, and frees a place at once', async () => {
    await using fixture = await startMessageFixture()
    const [first = ''] = await fill(fixture, 100)

    expect(await fixture.root.write(messagesPath, plain)).toMatchObject({ status: 400, body: errors(full) })
    expect(
      (await fixture.root.write(messagesPath, { ...plain, end_time: '2000-01-01T00:00:00Z' })).body,
    ).toEqual(errors(reversed))
    expect((await fixture.root.write(messagesPath, { ...plain, type: 'x' })).body).toEqual(errors(noSuchType))
    expect(
      (await fixture.root.write(messagesPath, { ...plain, start_time: '9999-12-31T23:59:59-01:00' })).body,
    ).toEqual(errors(full))
    expect((await fixture.root.write(`${messagesPath}/${first}`, plain)).status).toBe(200)
    expect((await fixture.root.write(`${messagesPath}/preview`, plain)).status).toBe(200)
    expect((await fixture.root.delete(`${messagesPath}/${first}`)).status).toBe(204)
    expect((await fixture.root.write(messagesPath, plain)).status).toBe(200)
    expect((await fixture.root.write(messagesPath, plain)).status).toBe(400)
  })

  test('of ten concurrent writes for the last place, one succeeds', async () => {
    await using fixture = await startMessageFixture()
    await fill(fixture, 99)

    const answers = await Promise.all(
      Array.from({ length: 10 }, () => fixture.root.write(messagesPath, plain)),
    )

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status, body } of answers)
      if (status !== 200) expect([status, body]).toEqual([400, errors(full)])
    expect((await fixture.root.list(messagesPath)).body.data?.['keys']).toHaveLength(100)
  })

  test('of a hundred concurrent creates after an existing message, one is refused', async () => {
    await using fixture = await startMessageFixture()
    await made(fixture)

    const answers = await Promise.all(
      Array.from({ length: 100 }, () => fixture.root.write(messagesPath, plain)),
    )

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(99)
    expect((await fixture.root.list(messagesPath)).body.data?.['keys']).toHaveLength(100)
  })

  test('each namespace has its own limit', async () => {
    await using fixture = await startMessageFixture()
    await fixture.root.write('sys/namespaces/a')
    await fixture.root.write('sys/namespaces/b', undefined, { headers: { 'X-Vault-Namespace': 'a' } })
    await fill(fixture, 100, { 'X-Vault-Namespace': 'a' })

    expect((await fixture.root.write(`a/${messagesPath}`, plain)).status).toBe(400)
    expect((await fixture.root.write(`a/b/${messagesPath}`, plain)).status).toBe(200)
    expect((await fixture.root.write(messagesPath, plain)).status).toBe(200)
  })
})
