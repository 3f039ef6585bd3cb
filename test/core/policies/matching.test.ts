import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Acl, AclOperation } from '../../../src/core/policies/acl.ts'
import { parsePolicy } from '../../../src/core/policies/policy.ts'
import { rounds } from '../../support/rounds.ts'
import { buildAcl } from './build-acl.ts'

/**
 * The rules of docs/contract/tokens-and-policies.md#paths-in-rules and #which-rule-decides again, literally
 * and slowly.
 */
function decidingPattern(patterns: readonly string[], path: string, isList: boolean): string | undefined {
  const bare = isList && path.endsWith('/') ? path.slice(0, -1) : undefined
  const isSegment = (pattern: string) => pattern === '+' || pattern.startsWith('+/') || pattern.includes('/+')
  const isOpen = (pattern: string) => pattern.endsWith('*')
  const fixed = (pattern: string) => (isOpen(pattern) ? pattern.slice(0, -1) : pattern)
  const exact = (wanted: string) =>
    patterns.find((pattern) => pattern === wanted && !isSegment(pattern) && !isOpen(pattern))
  const matches = (pattern: string, wanted: string) => {
    if (!isSegment(pattern)) return isOpen(pattern) && wanted.startsWith(fixed(pattern))
    const pieces = fixed(pattern).split('/')
    const segments = wanted.split('/')
    if (isOpen(pattern) ? segments.length < pieces.length : segments.length !== pieces.length) return false
    return pieces.every((piece, index) => {
      const segment = segments[index] ?? ''
      if (isOpen(pattern) && index === pieces.length - 1) return segment.startsWith(piece)
      return piece === '+' || piece === segment
    })
  }
  const firstWildcard = (pattern: string) => (isSegment(pattern) ? pattern.indexOf('+') : pattern.length - 1)
  const plusses = (pattern: string) =>
    isSegment(pattern) ? pattern.split('/').filter((piece) => piece.replace(/\*$/, '') === '+').length : 0
  const isBetter = (a: string, b: string) => {
    if (firstWildcard(a) !== firstWildcard(b)) return firstWildcard(a) > firstWildcard(b)
    if (isOpen(a) !== isOpen(b)) return !isOpen(a)
    if (plusses(a) !== plusses(b)) return plusses(a) < plusses(b)
    const length = (pattern: string) => Buffer.byteLength(fixed(pattern))
    if (length(a) !== length(b)) return length(a) > length(b)
    return Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0
  }
  const best = (wanted: string) => {
    let found: string | undefined
    for (const pattern of patterns) {
      if (matches(pattern, wanted) && (found === undefined || isBetter(pattern, found))) found = pattern
    }
    return found
  }
  return (
    exact(path) ??
    (bare === undefined ? undefined : exact(bare)) ??
    best(path) ??
    (bare === undefined ? undefined : best(bare))
  )
}

const piece = fc.constantFrom('a', 'b', 'ab', '+', '+', '', 'ü', '+a', 'a+', '\u{1f600}')
const pattern = fc
  .tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([pieces, open]) => `${pieces.join('/')}${open ? '*' : ''}`)
  .filter((text) => !text.includes('+*') && !text.startsWith('/'))
const path = fc
  .array(fc.constantFrom('a', 'b', 'ab', '', 'ü', '+a', 'a+', '\u{1f600}', 'abc'), {
    minLength: 1,
    maxLength: 5,
  })
  .map((pieces) => pieces.join('/'))

/** Each pattern requires its own parameter, which shows which rule decided. */
const policyOf = (patterns: readonly string[], from = 0) =>
  patterns
    .map(
      (text, index) =>
        `path ${JSON.stringify(text)} { capabilities = ["read", "list"] max_wrapping_ttl = ${index + 1 + from} min_wrapping_ttl = ${index + 1 + from} }`,
    )
    .join('\n')

const decidedBy = (acl: Acl, patterns: readonly string[], operation: AclOperation, wanted: string) =>
  patterns.find((_, index) => acl.decide({ operation, path: wanted, wrapTtlSeconds: index + 1 }).allowed)

test('the pattern that the rules select decides, for any patterns', () => {
  fc.assert(
    fc.property(fc.uniqueArray(pattern, { maxLength: 8 }), path, fc.boolean(), (patterns, wanted, isList) => {
      const acl = buildAcl([parsePolicy(policyOf(patterns))], { now: 0 })
      const asked = isList && !wanted.endsWith('/') ? `${wanted}/` : wanted
      const operation = isList ? 'list' : 'read'

      expect(decidedBy(acl, patterns, operation, asked)).toBe(decidingPattern(patterns, asked, isList))
    }),
    { numRuns: 1_250 * rounds },
  )
})

test('it does not matter which rules come from templates', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(pattern, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 0, max: 8 }),
      path,
      (patterns, cut, wanted) => {
        const own = patterns.slice(0, cut).map((text) => `{{identity.entity.metadata.none}}${text}`)
        const text = `${policyOf(own)}\n${policyOf(patterns.slice(cut), Math.min(cut, patterns.length))}`
        const acl = buildAcl([parsePolicy(text)], {
          entity: { id: 'e', name: 'n', aliases: [], metadata: { none: '' } },
          now: 0,
        })

        expect(decidedBy(acl, patterns, 'read', wanted)).toBe(decidingPattern(patterns, wanted, false))
        expect(decidedBy(acl, patterns, 'list', wanted)).toBe(
          decidingPattern(patterns, wanted.endsWith('/') ? wanted : `${wanted}/`, true),
        )
      },
    ),
    { numRuns: 750 * rounds },
  )
})

test('a mount is reached exactly when some path below it could be', () => {
  const mountPath = fc.constantFrom('a/', 'a/b/', 'ab/', 'ü/')
  fc.assert(
    fc.property(pattern, mountPath, (text, mount) => {
      const acl = buildAcl([parsePolicy(`path ${JSON.stringify(text)} { capabilities = ["read"] }`)], {
        now: 0,
      })
      // for one pattern, filling its wildcards in all relevant ways finds a path if there is one
      const fillings = ['a', 'b', 'ab', 'ü', '', 'x']
      const reached = pathsBelow(text, mount, fillings).some(
        (wanted) => acl.decide({ operation: 'read', path: wanted }).allowed,
      )

      expect(acl.mountAccess(mount)).toBe(reached || acl.capabilities(mount)[0] !== 'deny')
    }),
    { numRuns: 250 * rounds },
  )
})

function pathsBelow(text: string, mount: string, fillings: readonly string[]): string[] {
  const literal = text.endsWith('*') ? text.slice(0, -1) : text
  const above = mount.split('/').slice(0, -1)
  const filled = literal
    .split('/')
    .map((part, index) => (part === '+' ? (above[index] ?? fillings[0] ?? '') : part))
    .join('/')
  const candidates = text.endsWith('*')
    ? [filled, ...fillings.map((filling) => `${mount}${filling}`), `${mount}a/b/c/d/e`]
    : [filled]
  return candidates.filter((wanted) => wanted.startsWith(mount))
}

/** There is no timing: a non-linear step would exceed the time limit of a test. */
test('10,000 stanzas of each kind match a path of 100 kB quickly', () => {
  const lines: string[] = []
  for (let index = 0; index < 3_400; index++) {
    lines.push(`path "secret/team-${index}/*" { capabilities = ["read"] }`)
    lines.push(`path "+/+/${index}/+/end*" { capabilities = ["read"] }`)
    lines.push(`path "exact/${index}" { capabilities = ["read"] }`)
  }
  const acl = buildAcl([parsePolicy(lines.join('\n'))], { now: 0 })
  const longs = [
    'a'.repeat(100_000),
    'a/'.repeat(50_000),
    '/'.repeat(100_000),
    `secret/team-1/${'x/'.repeat(50_000)}`,
    `x/y/99/z/end${'/'.repeat(100_000)}`,
  ]

  const allowed = longs.map((long) => acl.decide({ operation: 'read', path: long }).allowed)

  expect(allowed).toEqual([false, false, false, true, true])
  for (let index = 0; index < 3_400; index++) {
    expect(acl.decide({ operation: 'read', path: `secret/team-${index}/a/b` }).allowed).toBe(true)
    expect(acl.decide({ operation: 'read', path: `exact/${index}` }).allowed).toBe(true)
    expect(acl.decide({ operation: 'read', path: `secret/team-${index}` }).allowed).toBe(false)
  }
})

test('a thousand nested prefixes match quickly', () => {
  const lines = Array.from(
    { length: 1_000 },
    (_, index) =>
      `path "${'a'.repeat(index + 1)}*" { capabilities = ["${index % 2 === 0 ? 'read' : 'update'}"] }`,
  )
  const acl = buildAcl([parsePolicy(lines.join('\n'))], { now: 0 })

  expect(acl.capabilities('a'.repeat(1_000))).toEqual(['update'])
  expect(acl.capabilities(`${'a'.repeat(501)}b`)).toEqual(['read'])
  expect(acl.capabilities('b')).toEqual(['deny'])
})

test('values match long texts quickly', () => {
  const glob = `*${'ab'.repeat(50_000)}c*`
  const acl = buildAcl(
    [parsePolicy(`path "p" { capabilities = ["update"] allowed_parameters = { x = ["${glob}"] } }`)],
    { now: 0 },
  )

  expect(acl.decide({ operation: 'update', path: 'p', fields: { x: 'ab'.repeat(1_000_000) } }).allowed).toBe(
    false,
  )
  expect(
    acl.decide({ operation: 'update', path: 'p', fields: { x: `${'ab'.repeat(100_000)}c` } }).allowed,
  ).toBe(true)
})

test('thousands of stanzas for one path are merged quickly', () => {
  const lines = Array.from(
    { length: 9_000 },
    (_, index) =>
      `path "p" { capabilities = ["update"] allowed_parameters = { x${index} = ["${index}"] y = ["${index}"] } }`,
  )
  const acl = buildAcl([parsePolicy(lines.join('\n'))], { now: 0 })

  expect(acl.decide({ operation: 'update', path: 'p', fields: { x7: '7', y: '8999' } }).allowed).toBe(true)
  expect(acl.decide({ operation: 'update', path: 'p', fields: { x7: '8' } }).allowed).toBe(false)
})
