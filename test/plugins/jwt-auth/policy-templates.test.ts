import { expect, test } from 'vitest'
import { parsePolicyTemplate } from '../../../src/plugins/jwt-auth/checks/policy-templates.ts'
import { openJwtDesk } from '../../support/jwt-desk.ts'
import { shared } from '../../support/shared.ts'
import { begin, confirmed, directRole, poll, withDirect } from './oidc/polled-login.ts'
import { startSmallProvider, writeRole } from './oidc/small-provider.ts'

const role = (token_policies: unknown, more: object = {}) => ({
  token_policies,
  token_policies_template_claims: true,
  ...more,
})

const ofFile = shared(() => openJwtDesk())

/** The desk, without the role `t`. */
async function cleared() {
  const desk = await ofFile()
  await desk.root.delete('auth/jwt/role/t')
  return desk
}

/** A login with the role `t`, whose policies claims name. */
async function loginWith(token_policies: unknown, claims: Record<string, unknown>) {
  const desk = await cleared()
  await desk.role('t', role(token_policies))
  return await desk.anonymous.write('auth/jwt/login', { role: 't', jwt: desk.jwt(claims) })
}

test.each([
  [['p-{{ .team }}'], { team: 'Blue ' }, ['p-blue']],
  [['p-{{.a.b}}-{{ .c }}'], { a: { b: 'x' }, c: 'y' }, ['p-x-y']],
  [['p-{{ index . "a-b" "c" }}'], { 'a-b': { c: 'x' } }, ['p-x']],
  [['p-{{ .n }}'], { n: 12345678 }, ['p-12345678']],
  [['p-{{ .yes }}', 'q-{{ .no }}'], { yes: true, no: false }, ['p-true', 'q-false']],
  [['{{ .team }}'], { team: 'a,b' }, ['a,b']],
  [['{{ .team }}', 'plain'], { team: ' ' }, ['plain']],
  [['{{ .team }}', 'x'], { team: 'X' }, ['x']],
])('%j with %j names %j', async (token_policies, claims, policies) => {
  const { status, body } = await loginWith(token_policies, claims)

  expect([status, body.auth?.['token_policies']]).toEqual([200, [...policies, 'default'].sort()])
})

test.each([undefined, null, ['a'], { a: 'b' }, 1.5])(
  'the claim %j names no policy, and the login is refused',
  async (team) => {
    const { status, body } = await loginWith(['x', 'p-{{ .team }}'], { team })

    expect(status).toBe(400)
    expect(body.errors?.[0]).toMatch(/^failed to template policy \[1\]: /)
  },
)

test.each([
  ['root', 'auth methods cannot create root tokens'],
  ['response-wrapping', 'cannot assign policy "response-wrapping"'],
])('no claim names the policy %s', async (team, text) => {
  const { status, body } = await loginWith(['{{ .team }}'], { team })

  expect([status, body.errors]).toEqual([400, [text]])
})

test.each([
  '{{ range .a }}x{{ end }}',
  '{{ printf "%s" .a }}',
  '{{ .a | lower }}',
  '{{ . }}',
  '{{ index .a "b" }}',
  '{{ index . }}',
  '{{ index . "\\x" }}',
  '{{- .a }}',
  '{{ .a-b }}',
  '{{ .a',
  '{{}}',
])('the template %j is refused at the write', async (text) => {
  const server = await cleared()
  const sent = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' }

  const { status, body } = await server.root.write('auth/jwt/role/t', { ...sent, ...role(['a', text]) })

  expect(status).toBe(400)
  expect(body.errors?.[0]).toMatch(/^failed to parse template policy \[1\]: /)
  expect((await server.root.write('auth/jwt/role/t', { ...sent, token_policies: [text] })).status).toBe(204)
})

test('the text of a template may have braces that end nothing, and a step may have any letter', () => {
  expect(parsePolicyTemplate('}} {{ index . "a}}b" "c\\"d" }} {')).toEqual({
    literals: ['}} ', ' {'],
    claims: [['a}}b', 'c"d']],
  })
})

test('a long template takes linear time', () => {
  expect(parsePolicyTemplate('{{ .a }}'.repeat(20_000))).toMatchObject({ claims: { length: 20_000 } })
  expect(parsePolicyTemplate(`{{ index .${' "a'.repeat(50_000)}`)).toHaveProperty('problem')
})

test('the setting is always read back, kept by a write without it, and no default', async () => {
  const desk = await cleared()
  await desk.role('t')
  const setting = async () =>
    (await desk.root.read('auth/jwt/role/t')).body.data?.['token_policies_template_claims']
  const before = await setting()
  await desk.role('t', { token_policies_template_claims: true })
  await desk.role('t', { token_ttl: 60 })

  expect([before, await setting()]).toEqual([false, true])
})

test('without the setting, braces are letters', async () => {
  const desk = await cleared()
  await desk.role('t', { token_policies: ['p-{{ .team }}'] })
  const { body } = await desk.anonymous.write('auth/jwt/login', { role: 't', jwt: desk.jwt({ team: 'a' }) })

  expect(body.auth?.['token_policies']).toEqual(['default', 'p-{{ .team }}'])
})

test('a login in the headers of a request has the policies that its claims name', async () => {
  const desk = await cleared()
  await desk.role('t', role(['{{ .team }}']))
  const at = (team: string) => desk.ask('kv/x', desk.head({ role: 't', jwt: desk.jwt({ team }) }))

  expect([(await at('desk')).status, (await at('other')).status]).toEqual([200, 403])
})

test('a login in the browser has them, also while it waits for the poll', async () => {
  await using provider = await startSmallProvider()
  await using server = await withDirect(provider, role(['p-{{ .team }}']))
  const { anonymous } = server
  const { login, state } = await begin(anonymous)
  await confirmed(anonymous, state, provider.codeFor(login, { claims: { team: 'x' } }))

  expect((await poll(anonymous, state)).body.auth?.['token_policies']).toEqual(['default', 'p-x'])
})

const templated = role(['p-{{ .team }}'])

test.each([
  [templated, { token_policies: ['plain'], token_policies_template_claims: false }, undefined],
  [templated, role(['plain']), undefined],
  [{ token_policies: ['plain'] }, templated, undefined],
  [templated, { token_ttl: 60 }, ['default', 'p-x']],
])('a role of %j that became %j before the poll gives %j', async (before, after, policies) => {
  await using provider = await startSmallProvider()
  await using server = await withDirect(provider, before)
  const { anonymous } = server
  const { login, state } = await begin(anonymous)
  await confirmed(anonymous, state, provider.codeFor(login, { claims: { team: 'x' } }))
  await writeRole(server, { ...directRole, ...after })

  expect((await poll(anonymous, state)).body.auth?.['token_policies']).toEqual(policies)
})

test('the linter names a template without a text in front, and no template as a missing policy', async () => {
  const desk = await cleared()
  await desk.role('t', role(['{{ .team }}', 'p-{{ .team }}', 'gone']))

  const { body } = await desk.root.read('auth/jwt/lint?role=t')

  const findings = (body.data?.['findings'] ?? []) as unknown as { code: string; text: string }[]
  const about = (code: string) => findings.filter((one) => one.code === code).map(({ text }) => text)
  expect(about('claim_names_policy')).toEqual([
    'a claim names the whole policy in "{{ .team }}": the issuer can choose any policy; put a prefix in front',
  ])
  expect(about('policy_missing')).toEqual(['token policies [gone] do not exist'])
})
