import { expect, test } from 'vitest'
import { borrowServer } from '../../support/borrowed-server.ts'

test('the deciding rule is named for a token, an entity, policies and a text, with the reason', async () => {
  await using server = await borrowServer()
  const { root } = server
  await root.write('sys/policies/acl/reader', {
    policy: `path "team/*" { capabilities = ["read"] }
      path "team/+/secret" { capabilities = ["deny"] }
      path "team/closed" { capabilities = ["update"] required_parameters = ["reason"] }`,
  })
  await root.write('sys/policies/acl/writer', { policy: 'path "team/*" { capabilities = ["update"] }' })
  const explain = async (body: object) => {
    const { status, body: answer } = await root.write('sys/policies/explain', body)
    expect(status, JSON.stringify(answer)).toBe(200)
    return answer.data
  }
  const both = { policies: ['reader', 'writer', 'not-there'] }

  expect(await explain({ ...both, path: 'team/a', operation: 'update' })).toEqual({
    allowed: true,
    sudo: false,
    reason: 'granted',
    rule: { path: 'team/*', capabilities: ['read', 'update'], policies: ['reader', 'writer'] },
    others: [],
  })
  expect(await explain({ ...both, path: 'team/a/secret' })).toEqual({
    allowed: false,
    sudo: false,
    reason: 'denied',
    rule: { path: 'team/+/secret', capabilities: ['deny'], policies: ['reader'] },
    others: [{ path: 'team/*', capabilities: ['read', 'update'], policies: ['reader', 'writer'] }],
  })
  expect(await explain({ ...both, path: 'team/a', operation: 'delete' })).toMatchObject({
    allowed: false,
    reason: 'not_granted',
  })
  expect(await explain({ ...both, path: 'team/closed', operation: 'update' })).toMatchObject({
    allowed: false,
    reason: 'withheld',
    rule: { path: 'team/closed' },
  })
  expect(await explain({ ...both, path: 'elsewhere' })).toMatchObject({ reason: 'no_rule', rule: null })

  const policy = 'path "elsewhere/*" { capabilities = ["list"] }'
  expect(await explain({ policy, path: 'elsewhere', operation: 'list' })).toMatchObject({ allowed: true })
  const entity = (await root.write('identity/entity', { name: 'ada', policies: ['reader'] })).body.data
  expect(await explain({ entity_id: entity?.id, path: 'team/a' })).toMatchObject({ allowed: true })
  const made = (await root.write('auth/token/create', { policies: ['writer'] })).body.auth
  expect(await explain({ accessor: made?.accessor, path: 'team/a' })).toMatchObject({
    allowed: false,
    rule: { policies: ['writer'] },
  })
  expect(await explain({ policies: ['root'], path: 'any' })).toMatchObject({ allowed: true, reason: 'root' })
})

test('explain needs sudo, exactly one holder, and one that is here', async () => {
  await using server = await borrowServer()
  const { root } = server
  await root.write('sys/policies/acl/asker', { policy: 'path "sys/*" { capabilities = ["update", "read"] }' })
  const { client_token: token } =
    (await root.write('auth/token/create', { policies: ['asker'] })).body.auth ?? {}
  const asked = { path: 'team/a', policies: ['default'] }

  expect((await server.as(String(token)).write('sys/policies/explain', asked)).status).toBe(403)
  const entity = (await root.write('identity/entity', { name: 'ada', disabled: true })).body.data
  for (const [body, text] of [
    [{ path: '' }, 'missing path'],
    [{ path: 'a' }, 'name exactly one of'],
    [{ ...asked, accessor: 'a' }, 'name exactly one of'],
    [{ path: 'a', policies: Array.from({ length: 101 }, (_, at) => `p${at}`) }, 'at most 100'],
    [{ path: 'a', accessor: 'unknown' }, 'invalid accessor'],
    [{ path: 'a', entity_id: entity?.id }, 'no such entity, or it is disabled'],
    [{ path: 'a', entity_id: 'unknown' }, 'no such entity, or it is disabled'],
    [{ path: 'a', policy: 'path "a" {' }, 'failed to parse policy'],
    [{ ...asked, operation: 'sudo' }, 'operation'],
  ] as const) {
    const answer = await root.write('sys/policies/explain', body)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(text)
  }
})
