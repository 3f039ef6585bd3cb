import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Acl, AclOperation } from '../../src/core/policies/acl.ts'
import { parsePolicy } from '../../src/core/policies/policy.ts'
import { parseLossless } from '../../src/lib/text/json.ts'
import { buildAcl } from '../core/policies/build-acl.ts'
import { rounds } from '../support/rounds.ts'
import { grantsNothing, modelCapabilities, modelDecision, type Question, type Stanza } from './acl-model.ts'
import { policyText } from './policy-text.ts'

// Few words, so that rules meet each other and the question all the time.

const operations: AclOperation[] = ['create', 'read', 'update', 'patch', 'delete', 'list', 'scan', 'help']
const template = '{{identity.entity.name}}'

const literal = fc.constantFrom('a', 'b', 'ab', '', 'ü', '\u{1f600}', '+a', 'a+', '*a')
const label = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 5, arbitrary: literal },
        { weight: 3, arbitrary: fc.constant('+') },
        { weight: 1, arbitrary: fc.constant(template) },
      ),
      { minLength: 1, maxLength: 4 },
    ),
    fc.boolean(),
  )
  .map(([pieces, open]) => `${pieces.join('/')}${open ? '*' : ''}`)
  .filter((text) => !text.includes('+*'))

const word = fc.constantFrom(
  'create',
  'read',
  'update',
  'patch',
  'delete',
  'list',
  'scan',
  'sudo',
  'subscribe',
  'recover',
)
const capabilities = fc.oneof(
  { weight: 8, arbitrary: fc.array(word, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: fc.constant(['read', 'deny']) },
  { weight: 1, arbitrary: fc.constantFrom([], undefined) },
)
const shorthand = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('deny' as const, 'read' as const, 'write' as const, 'sudo' as const),
  },
)

const value = fc.constantFrom<unknown[]>(
  'good',
  'goods',
  'no good',
  'g',
  '',
  '*',
  '1',
  true,
  false,
  1,
  2,
  1.5,
  ['g'],
  [1, 'g'],
  { g: 1 },
  { g: 1, h: [2] },
  {},
)
const valueRule = fc.oneof(
  value,
  fc.constantFrom('good*', '*good', '*oo*', '**', 'g*d', '*'),
  fc.constant(null),
)
const parameterName = fc.constantFrom('one', 'One', 'two', 'TWO', '*', '__proto__')
const parameters = fc.option(
  fc
    .dictionary(parameterName, fc.array(valueRule, { maxLength: 3 }), { maxKeys: 3, noNullPrototype: true })
    .filter(hasEachNameOnce),
  { freq: 2, nil: undefined },
)
const wrapping = fc
  .tuple(fc.constantFrom(0, 0, 0, 100, 200), fc.constantFrom(0, 0, 0, 100, 200))
  .map(([min, max]) => (max > 0 && min > max ? { min: max, max: min } : { min, max }))

const stanza: fc.Arbitrary<Stanza> = fc
  .record({
    path: label,
    capabilities,
    shorthand,
    allowed: parameters,
    denied: parameters,
    required: fc.option(fc.array(fc.constantFrom('one', 'One', 'two'), { maxLength: 2 }), {
      freq: 2,
      nil: undefined,
    }),
    wrapping,
    ended: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  })
  .map(({ wrapping: { min, max }, ...rest }) => ({ ...rest, min, max }))

const policies = fc.array(
  fc.tuple(fc.array(stanza, { maxLength: 5 }), fc.constantFrom('hcl' as const, 'json' as const)),
  { minLength: 1, maxLength: 4 },
)

type PathFor = (stanzas: readonly Stanza[]) => string

/** A path of the same words, or one that fits the stanza with that number. */
const askedPath = fc.oneof(
  fc.array(fc.oneof(literal, fc.constant('abc')), { minLength: 1, maxLength: 5 }).map(
    (pieces): PathFor =>
      () =>
        pieces.join('/'),
  ),
  fc
    .record({
      number: fc.nat(19),
      plus: fc.constantFrom('a', 'b', ''),
      tail: fc.constantFrom('', 'a', '/', '/a', '/a/b'),
    })
    .map((chosen): PathFor => {
      return (stanzas) => fittingPath(stanzas[chosen.number % stanzas.length]?.path ?? '', chosen)
    }),
)
const question = fc.record({
  operation: fc.constantFrom(...operations),
  pathFor: askedPath,
  fields: fc.dictionary(
    fc.constantFrom('one', 'ONE', 'two', 'three', '*', '__proto__'),
    fc.oneof(value, fc.constant(null)),
    { maxKeys: 3, noNullPrototype: true },
  ),
  wrapTtl: fc.constantFrom(undefined, undefined, 50, 100, 150, 200, 300),
})
const questions = fc.array(question, { minLength: 5, maxLength: 10 })

const entityName = fc.constantFrom('a', 'b', '..', 'a/b', 'a*', '*', '+', '', undefined)

test('the ACL and the model agree on what is allowed, and on sudo', () => {
  fc.assert(
    fc.property(policies, entityName, questions, (written, name, asked) => {
      const { acl, stanzas } = bothOf(written, name)

      for (const { pathFor, ...rest } of asked)
        expectAsModel(acl, stanzas, { ...rest, path: pathFor(stanzas) })
    }),
    { numRuns: 500 * rounds },
  )
})

test('the ACL and the model agree with hundreds of rules', () => {
  const many = fc.array(
    fc.tuple(
      fc.array(stanza, { minLength: 30, maxLength: 60 }),
      fc.constantFrom('hcl' as const, 'json' as const),
    ),
    { minLength: 2, maxLength: 4 },
  )
  fc.assert(
    fc.property(
      many,
      entityName,
      fc.array(question, { minLength: 30, maxLength: 40 }),
      (written, name, asked) => {
        const { acl, stanzas } = bothOf(written, name)

        for (const { pathFor, ...rest } of asked)
          expectAsModel(acl, stanzas, { ...rest, path: pathFor(stanzas) })
      },
    ),
    { numRuns: 30 * rounds },
  )
})

test('the ACL and the model agree on parameters and wrapping TTLs', () => {
  const onePath = stanza.map((one) => ({
    ...one,
    path: 'a',
    capabilities: ['read', 'update', 'delete', 'list'],
    shorthand: undefined,
    ended: false,
  }))
  const onePolicy = fc.tuple(
    fc.array(onePath, { minLength: 1, maxLength: 3 }),
    fc.constantFrom('hcl' as const, 'json' as const),
  )
  const thatPath: PathFor = () => 'a'
  const aQuestion = question.map((one) => ({ ...one, pathFor: thatPath }))
  fc.assert(
    fc.property(
      fc.array(onePolicy, { minLength: 1, maxLength: 2 }),
      fc.array(aQuestion, { minLength: 5, maxLength: 10 }),
      (written, asked) => {
        const { acl, stanzas } = bothOf(written, undefined)

        for (const { pathFor, ...rest } of asked)
          expectAsModel(acl, stanzas, { ...rest, path: pathFor(stanzas) })
      },
    ),
    { numRuns: 375 * rounds },
  )
})

test('capabilities are those of the rule that decides about a list', () => {
  fc.assert(
    fc.property(
      policies,
      entityName,
      fc.array(question, { minLength: 5, maxLength: 5 }),
      (written, name, asked) => {
        const { acl, stanzas } = bothOf(written, name)

        for (const path of asked.map(({ pathFor }) => pathFor(stanzas))) {
          expect(acl.capabilities(path), path).toEqual(modelCapabilities(stanzas, path))
        }
      },
    ),
    { numRuns: 250 * rounds },
  )
})

test('the rule for the canonical spelling of a path restricts what the rule for the path grants, and its denial always applies', () => {
  fc.assert(
    fc.property(policies, entityName, questions, askedPath, (written, name, asked, canonicalPathFor) => {
      const { acl, stanzas } = bothOf(written, name)
      const canonicalPath = canonicalPathFor(stanzas)

      for (const { pathFor, ...rest } of asked) {
        const question = { ...rest, path: pathFor(stanzas) }
        const plain = modelDecision(stanzas, question)
        const other = modelDecision(stanzas, { ...question, path: canonicalPath })
        const { operation, path, fields, wrapTtl } = question
        const both = acl.decide({
          operation,
          path,
          canonicalPath,
          fields: asSent(fields),
          wrapTtlSeconds: wrapTtl,
        })
        const isDenied = stanzas.some(
          (one) =>
            one.path === canonicalPath &&
            isExact(canonicalPath) &&
            !one.ended &&
            one.capabilities?.includes('deny') === true,
        )

        if (operation === 'help') expect(both).toEqual({ allowed: true, sudo: false })
        else {
          if (both.allowed) expect(plain.allowed).toBe(true)
          if (both.sudo) expect(plain.sudo).toBe(true)
          if (plain.allowed && other.allowed) expect(both.allowed).toBe(true)
          if (isDenied && operation !== 'list' && operation !== 'scan') expect(both.allowed).toBe(false)
        }
      }
    }),
    { numRuns: 250 * rounds },
  )
})

test('the order of policies, and of the stanzas in them, makes no difference', () => {
  fc.assert(
    fc.property(policies, entityName, questions, (written, name, asked) => {
      const { acl, stanzas } = bothOf(written, name)
      const turned = bothOf(
        [...written].reverse().map(([stanzas, form]) => [[...stanzas].reverse(), form] as const),
        name,
      )

      for (const { operation, pathFor, fields, wrapTtl } of asked) {
        const request = { operation, path: pathFor(stanzas), fields: asSent(fields), wrapTtlSeconds: wrapTtl }
        expect(turned.acl.decide(request)).toEqual(acl.decide(request))
      }
    }),
    { numRuns: 125 * rounds },
  )
})

function expectAsModel(
  acl: Acl,
  stanzas: readonly Stanza[],
  asked: Question & { operation: AclOperation },
): void {
  const { operation, path, fields, wrapTtl } = asked
  const decision = acl.decide({ operation, path, fields: asSent(fields), wrapTtlSeconds: wrapTtl })

  expect(decision, JSON.stringify(asked)).toEqual(modelDecision(stanzas, asked))
}

function fittingPath(label: string, { plus, tail }: { plus: string; tail: string }): string {
  const path = (label.startsWith('/') ? label.slice(1) : label).replace(/(?<=^|\/)\+(?=$|\/)/g, plus)
  return path.endsWith('*') ? `${path.slice(0, -1)}${tail}` : path
}

type Written = readonly (readonly [readonly Stanza[], 'hcl' | 'json'])[]

/**
 * The Acl of these policies for an entity of this name, and the stanzas that
 * docs/contract/tokens-and-policies.md#paths-in-rules leaves it.
 */
function bothOf(written: Written, name: string | undefined): { acl: Acl; stanzas: Stanza[] } {
  const entity = name === undefined ? undefined : { id: 'e', name, metadata: null, aliases: [] }
  const parsed = written.map(([stanzas, form]) => parsePolicy(policyText(stanzas, form)))
  return {
    acl: buildAcl(parsed, { entity, groups: [], now: Date.UTC(2026, 0, 1) }),
    stanzas: written.flatMap(([all]) => all).flatMap((one) => filled(one, name)),
  }
}

/** A value that would change what the path means leaves nothing of a grant, and closes where a denial begins. */
function filled(one: Stanza, name: string | undefined): Stanza[] {
  const [beginning = '', ...rest] = one.path.split(template)
  if (rest.length === 0) return [one]
  if (name === undefined || name === '') return []
  const path = one.path.replaceAll(template, name)
  if (!/[*+/]/.test(name) && !path.split('/').includes('..')) return [{ ...one, path }]
  return grantsNothing(one) ? [{ ...one, path: beginning, closes: true }] : []
}

const isExact = (path: string) => !/[+*]/.test(path)

/** Fields as the server reads them from the wire: numbers are texts there. */
const asSent = (fields: Readonly<Record<string, unknown>>) =>
  parseLossless(JSON.stringify(fields)) as Record<string, unknown>

/** A map that names one parameter in two spellings would be two rules, and no page says which applies. */
function hasEachNameOnce(map: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(map).map((name) => name.toLowerCase())
  return new Set(names).size === names.length
}
