import { expect, test } from 'vitest'
import { openJwtDesk } from '../../support/jwt-desk.ts'
import { shared } from '../../support/shared.ts'
import { aSigner } from './signer.ts'

const signer = aSigner('ES256')
const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }
const ofFile = shared(() => openJwtDesk())

/** The desk, without the role `r`. */
async function cleared() {
  const desk = await ofFile()
  await desk.root.delete('auth/jwt/role/r')
  return desk
}

let people = 0

/** A login of somebody new whose token has this JSON text as the claim `c`, or at `/d/c`, if there is one. */
async function loginWith(json: string | undefined, fields: object) {
  const server = await cleared()
  await server.configure({ jwt_validation_pubkeys: [signer.pem] })
  await server.root.write('auth/jwt/role/r', { ...role, ...fields })
  const now = Math.floor(Date.now() / 1000)
  const claim = json === undefined ? '' : `,"c" : ${json}, "d": { "x": 1, "c":${json} }`
  const jwt = signer.sign(`{"sub":"joe-${++people}","aud":"gate","iat":${now},"exp":${now + 600}${claim}}`)
  const { status, body } = await server.anonymous.write('auth/jwt/login', { role: 'r', jwt })
  const metadata = body.auth?.['metadata'] as unknown as Record<string, string> | undefined
  return { status, error: String(body.errors?.[0] ?? ''), metadata, policies: body.auth?.['token_policies'] }
}

const rows: [json: string | undefined, text: string | undefined][] = [
  ['"x"', 'x'],
  ['""', ''],
  [undefined, undefined],
  ['null', undefined],
  ['true', 'true'],
  ['false', 'false'],
  ['42', '42'],
  ['-7', '-7'],
  ['12345678901234567890123', '12345678901234567890123'],
  ['1.50', '1.5'],
  ['1e-6', '0.000001'],
  ['1e-7', '1e-7'],
  ['123456789.125', '123456789.125'],
  ['[ "a", 1, null ]', '["a",1,null]'],
  ['{"b" : 1, "10": [ ], "2": {"x": " , : "} }', '{"b":1,"10":[],"2":{"x":" , : "}}'],
  [
    '{"n": 0.1000000000000000055511, "m": 12345678901234567890}',
    '{"n":0.1000000000000000055511,"m":12345678901234567890}',
  ],
  ['["\\u00e4\\"]", "]"]', '["\\u00e4\\"]","]"]'],
]

test.each(rows)('the claim %s becomes %j', async (json, text) => {
  const { status, metadata } = await loginWith(json, { claim_mappings: { c: 'top', '/d/c': 'inner' } })

  expect(status).toBe(200)
  expect(metadata).toEqual({ role: 'r', ...(text !== undefined && { top: text, inner: text }) })
})

test.each(rows.filter(([json]) => json !== undefined && json !== 'null' && !json.startsWith('"')))(
  'with claim_mappings_text_only the claim %s is refused',
  async (json) => {
    const { status, error } = await loginWith(json, {
      claim_mappings: { c: 'cc' },
      claim_mappings_text_only: true,
    })

    expect([status, error]).toEqual([400, "error converting claim 'c' to string"])
  },
)

test.each([['"%"'], ['["%"]']])(
  'a value of more than 512 characters is refused, and its beginning shown: %s',
  async (json) => {
    const { status, error } = await loginWith(json.replace('%', 'x'.repeat(600)), {
      claim_mappings: { c: 'cc' },
    })

    expect(status).toBe(400)
    expect(error).toMatch(/^invalid alias metadata: failed to load metadata pair \("cc", "/)
    expect(error).toContain('x'.repeat(40))
    expect(error).not.toContain('x'.repeat(65))
  },
)

test('a policy that a whole number names has all its digits', async () => {
  const fields = { token_policies: ['p-{{ .c }}'], token_policies_template_claims: true }
  const { policies } = await loginWith('12345678901234567890123', fields)

  expect(policies).toEqual(['default', 'p-12345678901234567890123'])
})

test('user_claim stays a text', async () => {
  const desk = await cleared()
  await desk.configure({})
  await desk.role('r', { user_claim: 'n' })

  const { body } = await desk.anonymous.write('auth/jwt/login', { role: 'r', jwt: desk.jwt({ n: 5 }) })

  expect(body.errors).toEqual(['claim "n" could not be converted to string'])
})

test('the settings are always read back', async () => {
  const desk = await cleared()
  await desk.role('r')
  const fresh = (await desk.root.read('auth/jwt/role/r')).body.data
  await desk.role('r', { claim_mappings_text_only: true, groups_claim_type: 'object_keys' })
  await desk.role('r', { token_ttl: 60 })

  expect(fresh).toMatchObject({ claim_mappings_text_only: false, groups_claim_type: 'list' })
  expect((await desk.root.read('auth/jwt/role/r')).body.data).toMatchObject({
    claim_mappings_text_only: true,
    groups_claim_type: 'object_keys',
  })
})

async function written(field: string, value: unknown) {
  const server = await cleared()
  const path = field === 'provider_config' ? 'auth/jwt/config' : 'auth/jwt/role/r'
  const more = field === 'provider_config' ? { jwt_validation_pubkeys: [signer.pem] } : role
  const { status, body } = await server.root.write(path, { ...more, [field]: value })
  const shown = (await server.root.read(path)).body.data?.[field]
  return { status, error: status < 400 ? undefined : body.errors?.[0], shown }
}

test.each([
  ['bound_claims', '{"a":"b"}', { a: 'b' }],
  ['bound_claims', ' {"a": ["b", 5, true], "/c/d": "e"}\n', { a: ['b', 5, true], '/c/d': 'e' }],
  ['bound_claims', '{}', {}],
  ['claim_mappings', '{"a":"b", "c":"d"}', { a: 'b', c: 'd' }],
  ['claim_mappings', 'a=b', { a: 'b' }],
  ['claim_mappings', { a: 'b' }, { a: 'b' }],
  ['provider_config', '{}', {}],
])('%s may be %j', async (field, value, shown) => {
  expect(await written(field, value)).toEqual({ status: 204, error: undefined, shown })
})

const noMap = "'' expected type 'map[string]interface {}', got unconvertible type 'string'"

test.each([
  ['bound_claims', 'a=b', noMap],
  ['bound_claims', '', noMap],
  ['bound_claims', '[]', noMap],
  ['bound_claims', '{"a":"b"', noMap],
  ['bound_claims', '{"a":"b"} {}', noMap],
  ['bound_claims', 'eyJhIjoiYiJ9', noMap],
  ['bound_claims', '{"a":"b","a":"c"}', noMap],
  ['bound_claims', '{"a":{"x":1,"x":2}}', noMap],
  ['bound_claims', '{"a":1e400}', noMap],
  ['bound_claims', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, noMap],
  ['provider_config', 'a=b', noMap],
  ['claim_mappings', '{"a":1}', 'invalid key pair "{\\"a\\":1}"'],
  ['claim_mappings', '{"a":"b","a":"c"}', 'invalid key pair "{\\"a\\":\\"b\\",\\"a\\":\\"c\\"}"'],
])('%s may not be the text %j', async (field, value, detail) => {
  const { status, error } = await written(field, value)

  expect([status, error]).toEqual([
    400,
    expect.stringContaining(`error converting input for field "${field}": ${detail}`),
  ])
})

test('a bound claim sent as text binds', async () => {
  const fields = { bound_claims: '{"c":12345678901234567890}' }

  expect((await loginWith('12345678901234567890', fields)).status).toBe(200)
  expect((await loginWith('12345678901234567891', fields)).status).toBe(400)
})

const couldNot = '"g" claim could not be converted to string list'
const absent = 'failed to fetch groups: "g" claim not found in token'

test.each([
  ['list', { b: true }, couldNot],
  [
    'object_keys',
    { admin: { '1': 'x' }, user: true, off: false, gone: null, none: 0 },
    ['admin', 'user', 'none'],
  ],
  ['object_keys', {}, []],
  ['object_keys', ['admin'], ['admin']],
  ['object_keys', 'admin', ['admin']],
  ['object_keys', [{}], 'value map[] in groups claim could not be parsed as string'],
  ['object_keys', undefined, absent],
])('groups_claim_type %s reads %j as %j', async (groups_claim_type, g, expected) => {
  const desk = await cleared()
  await desk.configure({})
  await desk.role('r', { groups_claim: 'g', groups_claim_type })
  const { status, body } = await desk.root.write('auth/jwt/explain', { role: 'r', jwt: desk.jwt({ g }) })
  const login = await desk.anonymous.write('auth/jwt/login', { role: 'r', jwt: desk.jwt({ g }) })

  const found = body.data?.['login']?.['groups']?.['claimed']
  expect([status, login.body.errors?.[0] ?? found]).toEqual([200, expected])
})

test('a token without groups is accepted where they are optional', async () => {
  const desk = await cleared()
  await desk.configure({})
  await desk.role('r', { groups_claim: 'g', groups_claim_type: 'object_keys', groups_claim_optional: true })

  expect((await desk.anonymous.write('auth/jwt/login', { role: 'r', jwt: desk.jwt() })).status).toBe(200)
})

test.each(['keys', ''])('groups_claim_type cannot be %j', async (groups_claim_type) => {
  const { status, error } = await written('groups_claim_type', groups_claim_type)

  expect([status, error]).toEqual([400, `invalid 'groups_claim_type': ${groups_claim_type}`])
})
