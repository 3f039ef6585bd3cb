import fc from 'fast-check'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { aProgram } from '../../plugins/jwt-auth/cel/desk.ts'
import { anyCharacter } from '../../support/any-character.ts'
import { type Headers, issuer, openJwtDesk, parameterOf, written } from '../../support/jwt-desk.ts'
import { many, rounds } from '../../support/rounds.ts'

const names = ['role', 'jwt', 'state', 'username', 'password', '__proto__', 'constructor', '']
const values = [null, 5, true, 'dev', 'prog', [], {}, [null], { a: 1 }, '\u0000', '\ud800']

const json = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc
    .record({ key: fc.constantFrom(...names), value: fc.constantFrom(...values) })
    .map((field) => JSON.stringify(field)),
  fc
    .record({ key: fc.jsonValue(), value: fc.jsonValue() }, { requiredKeys: [] })
    .map((field) => JSON.stringify(field)),
  fc.string({ unit: anyCharacter }),
)
/** What a header can hold. */
const text = fc
  .array(fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f))
  .map((codes) => String.fromCharCode(...codes))
const parameter = fc.oneof({ weight: 4, arbitrary: json.map(parameterOf) }, { weight: 1, arbitrary: text })

const paths = [
  'auth/jwt/login',
  'auth/jwt/cel/login',
  'auth/jwt/oidc/callback',
  'auth/jwt/oidc/poll',
  'auth/approle/login',
  'auth/userpass/login/joe',
  'team/auth/jwt/login',
  'auth/jwt/login/',
  'auth//jwt/login',
  '//',
  'sys/health',
]
const jwtLike = fc.tuple(json, json, fc.string()).map((parts) => parts.map(parameterOf).join('.'))
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const requests = fc.record({
  path: optional(fc.oneof(fc.constantFrom(...paths), text)),
  operation: optional(fc.constantFrom('read', 'create', 'update', 'list', '')),
  namespace: optional(fc.oneof(fc.constantFrom('', '/', 'root', 'team', 'nope', 'team/../team'), text)),
  role: optional(fc.oneof(fc.constantFrom('dev', 'cel/prog', 'cel/', 'CEL/PROG'), text)),
  token: optional(fc.oneof(jwtLike, text)),
  good: fc.constantFrom('none', 'token', 'login'),
  parameters: fc.array(parameter, { maxLength: 3 }),
  target: fc.constantFrom(
    'kv/x',
    'auth/token/lookup-self',
    'auth/token/revoke-self',
    'sys/internal/ui/mounts',
    'nope',
  ),
})

type Given = typeof requests extends fc.Arbitrary<infer T> ? T : never

test('no headers make a request fail on our side, reach the log, or stop the server', async () => {
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  await using desk = await openJwtDesk({ log })
  await written(desk.root, 'sys/namespaces/team', {})
  for (const type of ['approle', 'userpass']) await written(desk.root, `sys/auth/${type}`, { type })
  await desk.configure({ accept_as_token: true, bound_issuer: issuer })
  const program = aProgram({ expression: 'pb.Auth{policies: ["desk"]}' })
  await written(desk.root, 'auth/jwt/cel/role/prog', { bound_audiences: ['gate'], cel_program: program })
  const headersOf = (given: Given): Headers => {
    const { path, operation, namespace, role, token, good, parameters } = given
    const own = { Path: path, Operation: operation, Namespace: namespace }
    const sent = {
      ...(good === 'login' ? desk.head() : {}),
      ...Object.fromEntries(
        Object.entries(own).map(([name, value]) => [`X-Vault-Inline-Auth-${name}`, value]),
      ),
      ...Object.fromEntries(parameters.map((value, at) => [`X-Vault-Inline-Auth-Parameter-${at}`, value])),
      'X-Gatehouse-Role': role,
      'X-Vault-Token': good === 'token' ? desk.jwt() : token,
    }
    return Object.fromEntries(
      Object.entries(sent).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    )
  }

  await fc.assert(
    fc.asyncProperty(requests, async (given) => {
      const answer = await desk.ask(given.target, headersOf(given))

      expect(answer.status).toBeLessThan(500)
      if (answer.headers['x-vault-inline-auth-failed'] !== undefined) {
        expect(answer.status).toBeGreaterThanOrEqual(400)
        expect(answer.body.errors).toHaveLength(1)
      }
    }),
    { numRuns: many(400, 1_000) * rounds },
  )
  expect((await desk.ask('kv/x')).status).toBe(200)
  expect(lines.filter((line) => line.includes('"level":50'))).toEqual([])
})
