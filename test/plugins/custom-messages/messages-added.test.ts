import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { caused, errors, notAllowed } from '../../support/error-bodies.ts'
import {
  clientWith,
  type MessageFixture,
  made,
  messagesPath,
  plain,
  startMessageFixture,
} from './message-fixture.ts'

const mergePatch = { headers: { 'Content-Type': 'application/merge-patch+json' } }
const bad = (field: string, text: string) => `invalid ${field} parameter value, ${text}`
const severities = bad('severity', 'must be one of info, success, warning, critical')

let fixture: MessageFixture
beforeAll(async () => {
  fixture = await startMessageFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())
const stored = async (id: string) => (await fixture.root.read(`${messagesPath}/${id}`)).body.data

describe('the fields that Gatehouse adds', () => {
  test.each<{ sent: object; told?: object }>([
    { sent: {} },
    { sent: { severity: 'info' } },
    {
      sent: {
        severity: 'critical',
        priority: -5,
        dismissible: false,
        acknowledge_required: true,
        audience: { policies: ['ops'], entity_ids: ['e'] },
      },
    },
    { sent: { priority: '0x10' }, told: { priority: 16 } },
    { sent: { priority: null }, told: { priority: 0 } },
    { sent: { dismissible: null }, told: { dismissible: false } },
    { sent: { acknowledge_required: 't' }, told: { acknowledge_required: true } },
    { sent: { audience: {} } },
    { sent: { audience: null }, told: {} },
    { sent: { audience: { group_ids: [] } } },
    {
      sent: { audience: [{ policies: ['a'] }, { group_ids: ['b'] }] },
      told: { audience: { policies: ['a'], group_ids: ['b'] } },
    },
  ])('$sent is returned if and only if it was set', async ({ sent, told = sent }) => {
    const created = await fixture.root.write(messagesPath, { ...plain, ...sent })
    const id = String(created.body.data?.['id'])

    const core = {
      ...plain,
      id,
      type: 'banner',
      authenticated: true,
      end_time: null,
      link: null,
      options: null,
      active: true,
    }
    expect(created.body.data).toEqual({ ...core, ...told })
    expect(await stored(id)).toEqual({ ...core, ...told })
    const [entry] = Object.values((await fixture.root.list(messagesPath)).body.data?.['key_info'] ?? {})
    expect(Object.keys(entry ?? {}).sort()).toEqual([
      'active',
      'authenticated',
      'end_time',
      'start_time',
      'title',
      'type',
    ])
    expect((await fixture.root.write(`${messagesPath}/${id}`, plain)).body.data).toEqual(core)
    expect(await stored(id)).toEqual(core)
    await fixture.root.delete(`${messagesPath}/${id}`)
  })

  test.each([
    { sent: { severity: 'Info' }, text: severities },
    { sent: { severity: '' }, text: severities },
    { sent: { severity: null }, text: severities },
    {
      sent: { audience: { users: [] } },
      text: bad('audience', 'must have no other lists than policies, entity_ids, group_ids'),
    },
    { sent: { audience: { policies: 'ops' } }, text: bad('audience', 'policies must be a list of strings') },
    {
      sent: { audience: { entity_ids: [1] } },
      text: bad('audience', 'entity_ids must be a list of strings'),
    },
    { sent: { audience: { group_ids: null } }, text: bad('audience', 'group_ids must be a list of strings') },
    {
      sent: { authenticated: false, audience: { policies: ['ops'] } },
      text: 'audience needs authenticated messages',
    },
    { sent: { authenticated: false, audience: {} }, text: 'audience needs authenticated messages' },
    { sent: { severity: 'x', type: 'x' }, text: severities },
  ])('$sent is refused, by create, update, patch and preview', async ({ sent, text }) => {
    const id = await made(fixture)

    const answers = [
      await fixture.root.write(messagesPath, { ...plain, ...sent }),
      await fixture.root.write(`${messagesPath}/preview`, { ...plain, ...sent }),
      await fixture.root.write(`${messagesPath}/${id}`, { ...plain, ...sent }),
    ]
    // in a merge patch null is not a value
    if (!JSON.stringify(sent).includes('null'))
      answers.push(await fixture.root.call('PATCH', `${messagesPath}/${id}`, sent, mergePatch))

    for (const answer of answers) expect(answer).toMatchObject({ status: 400, body: errors(text) })
    await fixture.root.delete(`${messagesPath}/${id}`)
    expect((await fixture.root.list(messagesPath)).status).toBe(404)
  })

  test.each([
    ['priority', '1.5', 'int', 'strconv.ParseInt: invalid syntax'],
    ['dismissible', 'yes', 'bool', 'strconv.ParseBool: invalid syntax'],
    ['acknowledge_required', 'maybe', 'bool', 'strconv.ParseBool: invalid syntax'],
  ])('%s %s cannot be converted', async (field, value, type, why) => {
    const text = `error converting input for field "${field}": '' cannot parse value as '${type}': ${why}`

    expect((await fixture.root.write(messagesPath, { ...plain, [field]: value })).body).toEqual(errors(text))
  })

  test('a patch sets one, keeps the others, and removes one', async () => {
    const id = await made(fixture, {
      severity: 'warning',
      priority: 3,
      audience: { policies: ['a'], group_ids: ['g'] },
    })
    const patch = (sent: object) => fixture.root.call('PATCH', `${messagesPath}/${id}`, sent, mergePatch)

    const first = await patch({ dismissible: false, audience: { group_ids: null, policies: ['b'] } })
    expect(first.body.data).toMatchObject({
      severity: 'warning',
      priority: 3,
      dismissible: false,
      audience: { policies: ['b'] },
    })
    expect(first.body.data?.['audience']).toEqual({ policies: ['b'] })
    const second = await patch({ severity: null, priority: null, audience: null })
    expect(Object.keys(second.body.data ?? {})).not.toEqual(expect.arrayContaining(['severity']))
    expect(second.body.data).not.toHaveProperty('priority')
    expect(second.body.data).not.toHaveProperty('audience')
    expect(second.body.data).toHaveProperty('dismissible', false)
    expect((await patch({ authenticated: false, audience: { policies: ['x'] } })).body).toEqual(
      errors('audience needs authenticated messages'),
    )
    await fixture.root.delete(`${messagesPath}/${id}`)
  })
})

describe('schemes of a link', () => {
  test.each([
    { href: 'javascript:alert(1)', warnings: ['link scheme "javascript" is not http, https or mailto'] },
    { href: 'FTP://x', warnings: ['link scheme "ftp" is not http, https or mailto'] },
    { href: 'www.learn.com', warnings: null },
    { href: 'mailto:a@b', warnings: null },
  ])('$href is stored, with the warnings $warnings', async ({ href, warnings }) => {
    const sent = { ...plain, link: { Learn: href } }

    const created = await fixture.root.write(messagesPath, sent)
    const path = `${messagesPath}/${created.body.data?.['id']}`

    expect(created.body.warnings).toEqual(warnings)
    expect((await fixture.root.write(path, sent)).body.warnings).toEqual(warnings)
    expect((await fixture.root.call('PATCH', path, { title: 'x' }, mergePatch)).body.warnings).toEqual(
      warnings,
    )
    expect((await fixture.root.read(path)).body).toMatchObject({
      data: { link: { Learn: href } },
      warnings: null,
    })
    const preview = await fixture.root.write(`${messagesPath}/preview`, sent)
    expect(preview.body).toMatchObject({ data: { link: { Learn: warnings === null ? href : '' } }, warnings })
    await fixture.root.delete(path)
  })
})

test('a long scheme is truncated in the warning', async () => {
  await using server = await startMessageFixture()

  const { body } = await server.root.write(messagesPath, {
    ...plain,
    link: { a: `${'x'.repeat(1_000_000)}:` },
  })

  expect(body.warnings).toEqual([`link scheme "${'x'.repeat(256)}…" is not http, https or mailto`])
})

describe('a preview', () => {
  const preview = `${messagesPath}/preview`

  test.each(['POST', 'PUT'])('%s shows the entry as front ends get it, and stores nothing', async (verb) => {
    const { status, body } = await fixture.root.call(verb, preview, {
      ...plain,
      type: 'modal',
      link: { a: 'b' },
      options: { n: 1 },
      severity: 'warning',
      foo: 1,
    })

    expect(status).toBe(200)
    expect(body.data).toEqual({
      title: 't',
      message: 'SGVsbG8=',
      authenticated: true,
      type: 'modal',
      start_time: '2024-01-01T00:00:00Z',
      end_time: null,
      link: { a: 'b' },
      options: { n: 1 },
      severity: 'warning',
    })
    expect(body.warnings).toEqual(['Endpoint ignored these unrecognized parameters: [foo]'])
    expect((await fixture.root.list(messagesPath)).status).toBe(404)
  })

  test.each([
    { sent: {}, text: 'missing title parameter value' },
    {
      sent: { ...plain, title: [] },
      text: `error converting input for field "title": '' expected type 'string', got unconvertible type '[]interface {}'`,
    },
    {
      sent: { ...plain, end_time: 0 },
      text: 'failed to create custom message: message start time must occur before end time',
    },
    { sent: { ...plain, type: 'x' }, text: 'failed to create custom message: unrecognized message type' },
  ])('$sent is refused as in a create', async ({ sent, text }) => {
    expect(await fixture.root.write(preview, sent)).toMatchObject({ status: 400, body: errors(text) })
  })

  test('a year that no text can express is refused too', async () => {
    expect((await fixture.root.write(preview, { ...plain, end_time: 253402300800 })).text).toContain(
      'year outside of range [0,9999]',
    )
  })

  test('requires create on its own path, and is never an id', async () => {
    const creator = await clientWith(fixture, preview, 'create')
    const updater = await clientWith(fixture, preview, 'update')

    expect((await creator.write(preview, plain)).status).toBe(200)
    expect(await creator.write(messagesPath, plain)).toMatchObject({ status: 403, body: notAllowed })
    expect(await updater.write(preview, plain)).toMatchObject({ status: 403, body: notAllowed })
    for (const verb of ['GET', 'DELETE', 'PATCH', 'LIST']) {
      expect(
        (await fixture.root.call(verb, preview, verb === 'PATCH' ? plain : undefined, mergePatch)).status,
      ).toBe(405)
    }
    for (const verb of ['GET', 'DELETE', 'LIST'])
      expect((await fixture.root.call(verb, `${preview}/`)).status).toBe(405)
    expect((await fixture.root.write(`${preview}/`, plain)).body).toEqual(
      errors("cannot write to a path ending in '/'"),
    )
  })
})

describe('reading acknowledgements', () => {
  /** A client whose token has an entity. */
  async function somebody(name: string) {
    const { body } = await fixture.root.write('identity/entity', { name })
    const id = String(body.data?.['id'])
    const accessor = String((await fixture.root.read('sys/auth')).body.data?.['token/']?.['accessor'])
    await fixture.root.write('identity/entity-alias', { name, canonical_id: id, mount_accessor: accessor })
    await fixture.root.write('auth/token/roles/any', { allowed_entity_aliases: '*' })
    const token = await fixture.root.write('auth/token/create/any', { entity_alias: name })
    return { id, client: fixture.as(String(token.body.auth?.['client_token'])) }
  }
  const ack = (id: string) => `sys/internal/ui/authenticated-messages/${id}/ack`

  test('operators see who acknowledged a message, and when first', async () => {
    const id = await made(fixture)
    const people = [await somebody('ann'), await somebody('bob')]
    expect(await fixture.root.call('LIST', `${messagesPath}/${id}/acks`)).toMatchObject({
      status: 404,
      body: errors(),
    })
    for (const { client } of people) expect((await client.write(ack(id))).status).toBe(204)
    const before = fixture.clock.now()
    fixture.clock.advance(60)
    expect((await people[0]?.client.write(ack(id)))?.status).toBe(204)

    for (const answer of [
      await fixture.root.call('LIST', `${messagesPath}/${id}/acks`),
      await fixture.root.list(`${messagesPath}/${id}/acks/`),
    ]) {
      const time = new Date(before).toISOString().replace('.000', '')
      expect(answer.status).toBe(200)
      expect(answer.body.data?.['keys']).toEqual(people.map((one) => one.id).sort())
      expect(answer.body.data?.['key_info']).toEqual({
        [String(people[0]?.id)]: { acknowledged_time: time, entity_name: 'ann' },
        [String(people[1]?.id)]: { acknowledged_time: time, entity_name: 'bob' },
      })
    }
    const one = await fixture.root.list(`${messagesPath}/${id}/acks?limit=1`)
    expect(one.body.data?.['keys']).toHaveLength(1)
    expect(Object.keys(one.body.data?.['key_info'] ?? {})).toEqual(one.body.data?.['keys'])
    await fixture.root.delete(`${messagesPath}/${id}`)
    expect(await fixture.root.list(`${messagesPath}/${id}/acks`)).toMatchObject({
      status: 404,
      body: errors(caused('custom message not found')),
    })
  })

  test('requires list on its path', async () => {
    const id = await made(fixture)
    const path = `${messagesPath}/${id}/acks`

    expect(
      await (await clientWith(fixture, path, 'read', 'create', 'update')).call('LIST', path),
    ).toMatchObject({ status: 403, body: notAllowed })
    expect((await (await clientWith(fixture, path, 'list')).call('LIST', path)).status).toBe(404)
    expect((await fixture.root.read(path)).status).toBe(405)
  })
})
