import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entity } from '../../../src/core/identity/entities/entity.ts'
import { fillClaims, parseClaimTemplate } from '../../../src/core/identity-tokens/claim-template.ts'
import { stringifyJson } from '../../../src/lib/text/json.ts'

const anAlias = {
  id: 'alias-1',
  canonical_id: 'entity-1',
  mount_accessor: 'auth_jwt_1',
  name: 'bob@example.com',
  metadata: { team: 'blue' },
  custom_metadata: { floor: '3' },
  merged_from_canonical_ids: null,
  local: false,
  creation_time: '',
  last_update_time: '',
}

const anEntity = (changes: Partial<Entity> = {}): Entity => ({
  id: 'entity-1',
  name: 'bob',
  namespace_id: 'root',
  metadata: { team: 'red', q: 'a"b' },
  policies: [],
  disabled: false,
  merged_entity_ids: null,
  aliases: [anAlias],
  creation_time: '',
  last_update_time: '',
  ...changes,
})

const groups = [
  { id: 'g-1', name: 'ops', metadata: null },
  { id: 'g-2', name: 'a "quoted" one', metadata: null },
]

/** The claims as a verifier reads them. */
const claims = (template: string, entity: Entity = anEntity(), now = 1_800_000_000_999): unknown =>
  JSON.parse(stringifyJson(fillClaims(parseClaimTemplate(template), { entity, groups, now })))

const refusal = (template: string): string => {
  try {
    parseClaimTemplate(template)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return 'accepted'
}

describe('what a directive stands for', () => {
  test.each([
    ['{{identity.entity.id}}', 'entity-1'],
    ['{{ identity.entity.name }}', 'bob'],
    ['{{identity.entity.metadata}}', { team: 'red', q: 'a"b' }],
    ['{{identity.entity.metadata.q}}', 'a"b'],
    ['{{identity.entity.metadata.gone}}', ''],
    ['{{identity.entity.metadata.constructor}}', ''],
    ['{{identity.entity.groups.names}}', ['ops', 'a "quoted" one']],
    ['{{identity.entity.groups.ids}}', ['g-1', 'g-2']],
    ['{{identity.entity.aliases.auth_jwt_1.id}}', 'alias-1'],
    ['{{identity.entity.aliases.auth_jwt_1.name}}', 'bob@example.com'],
    ['{{identity.entity.aliases.auth_jwt_1.metadata}}', { team: 'blue' }],
    ['{{identity.entity.aliases.auth_jwt_1.metadata.team}}', 'blue'],
    ['{{identity.entity.aliases.auth_jwt_1.custom_metadata}}', { floor: '3' }],
    ['{{identity.entity.aliases.auth_jwt_1.custom_metadata.floor}}', '3'],
    ['{{identity.entity.aliases.nobody.name}}', ''],
    ['{{identity.entity.aliases.nobody.id}}', ''],
    ['{{identity.entity.aliases.nobody.metadata}}', {}],
    ['{{identity.entity.aliases.nobody.metadata.team}}', ''],
    ['{{time.now}}', 1_800_000_000],
    ['{{time.now.plus.1h}}', 1_800_003_600],
    ['{{time.now.minus.2m}}', 1_799_999_880],
    ['{{time.now.plus.90}}', 1_800_000_090],
  ])('%s', (directive, value) => {
    expect(claims(`{"deep": [{"a": ${directive} }]}`)).toEqual({ deep: [{ a: value }] })
  })

  test('missing metadata is an empty object', () => {
    expect(claims('{"m": {{identity.entity.metadata}} }', anEntity({ metadata: null }))).toEqual({ m: {} })
    expect(claims('{"l": {{login.metadata}}, "x": {{login.metadata.x}} }')).toEqual({ l: {}, x: '' })
  })

  test('metadata can supply all claims except those that the server sets', () => {
    const entity = anEntity({
      metadata: { team: 'red', sub: 'someone-else', iss: 'https://evil', __proto__: 'x' },
    })

    expect(claims(' {{identity.entity.metadata}} ', entity)).toEqual({ team: 'red' })
  })

  test('an empty template adds no claims, and text that is not a directive stays unchanged', () => {
    expect(claims('')).toEqual({})
    expect(
      stringifyJson(
        fillClaims(parseClaimTemplate('{"n": 1e3, "big": 12345678901234567890}'), {
          entity: anEntity(),
          groups,
          now: 0,
        }),
      ),
    ).toBe('{"n":1e3,"big":12345678901234567890}')
  })
})

describe('templates that are refused', () => {
  const [syntax, template] = ['error parsing template JSON: ', 'error parsing template: ']
  test.each([
    ['{"a":', syntax],
    ['[1]', syntax],
    ['null', syntax],
    ['1', syntax],
    ['{"a": 1} {"b": 2}', syntax],
    ['{"a": "{{identity.entity.name}}"}', syntax],
    ['{"a": "x{{identity.entity.groups.names}}x"}', syntax],
    ['{{identity.entity.name}}', syntax],
    ['{{identity.entity.groups.names}}', syntax],
    ['{{time.now}}', syntax],
    ['{ {{identity.entity.name}}: 1 }', syntax],
    ['{"a": { {{identity.entity.name}}: 1 } }', syntax],
    [
      '{"a": {{identity.entity.nobody}} }',
      `${template}no value could be found for one of the template directives`,
    ],
    ['{"a": {{identity.entity.aliases.x}} }', `${template}no value could be found`],
    ['{"a": {{identity.entity.aliases.x.secret}} }', `${template}no value could be found`],
    ['{"a": {{identity.groups.names.ops.id}} }', `${template}no value could be found`],
    ['{"a": {{time.now.plus.soon}} }', `${template}no value could be found`],
    ['{"a": {{time.then}} }', `${template}no value could be found`],
    ['{"a": {{}} }', `${template}no value could be found`],
    ['{"a": {{identity.entity.name}', `${template}unbalanced templating characters`],
    ['{"a": identity.entity.name}} }', `${template}unbalanced templating characters`],
    ['{"a": {{identity.entity.name}} }}', `${template}unbalanced templating characters`],
    [`{"a": "${'x'.repeat(65_536)}"}`, template],
    [`{"a": [${'{{time.now}},'.repeat(256)}{{time.now}}]}`, template],
    [`{"a": ${'['.repeat(80)}${']'.repeat(80)}}`, syntax],
  ])('$0 is refused: $1', (text, start) => {
    expect(refusal(text).startsWith(start)).toBe(true)
  })

  test.each(['iat', 'aud', 'exp', 'iss', 'sub', 'namespace', 'nonce', 'auth_time', 'at_hash', 'c_hash'])(
    'only the server sets %s',
    (name) => {
      expect(refusal(`{"${name}": 1}`)).toBe(
        `top level key "${name}" not allowed. Restricted keys: iat, aud, exp, iss, sub, namespace, nonce, auth_time, at_hash, c_hash`,
      )
      expect(refusal(`{"deep": {"${name}": 1} }`)).toBe('accepted')
    },
  )

  test('a template may set jti and nbf', () => {
    expect(refusal('{"jti": "x", "nbf": 5}')).toBe('accepted')
  })
})

test("the claims are exactly those of the template, whatever the person's name", () => {
  const someText = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '"',
      '\\',
      '", "admin": true, "x": "',
      '{{identity.entity.id}}',
      '}}',
      '\u0000',
      '__proto__',
    ),
  )
  fc.assert(
    fc.property(someText, fc.dictionary(someText, someText), (name, metadata) => {
      const entity = anEntity({ name, metadata })
      const read = claims(
        '{"n": {{identity.entity.name}}, "m": {{identity.entity.metadata}}, "l": [{{identity.entity.name}}] }',
        entity,
      )
      expect(Object.keys(Object(read))).toEqual(['n', 'm', 'l'])
      expect(read).toMatchObject({ n: name.toWellFormed(), l: [name.toWellFormed()] })
    }),
  )
})
