import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rootAcl } from '../../src/core/policies/acl.ts'
import { PolicyStore } from '../../src/core/policies/policy-store.ts'
import { sanitize } from '../../src/core/tokens/store/policy-names.ts'
import { openCoreView } from '../support/core-view.ts'

/** Letters that look like those of `root`, become them in some normal form or case, or are invisible. */
const letters = [
  ['r', 'R', 'ｒ', 'Ｒ', 'ⓡ', 'ʳ', '𝐫', 'г'],
  ['o', 'O', 'ｏ', 'Ｏ', 'ⓞ', 'º', 'о', '0', 'ό'],
  ['o', 'O', 'ｏ', 'Ｏ', 'ⓞ', 'º', 'о', '0', 'o\u0301'],
  ['t', 'T', 'ｔ', 'Ｔ', 'ⓣ', 'ᵗ', 'т', 'ṫ'],
] as const
const unseen = fc.constantFrom('', '', '', '\u200b', '\u00ad', '\u2060', '\u0000', '\u202e', ' ')
const around = fc.constantFrom(
  '',
  '',
  ' ',
  '\t',
  '\n',
  '\u00a0',
  '\u3000',
  '\u2028',
  '\ufeff',
  '\u200b',
  '\u0000',
  '/',
  '.',
)
const likeRoot = fc
  .tuple(around, ...letters.flatMap((row) => [fc.constantFrom(...row), unseen]), around)
  .map((pieces) => pieces.join(''))
const plainRoot = fc
  .tuple(around, fc.constantFrom('root', 'ROOT', 'Root', 'rooT'), around)
  .map((pieces) => pieces.join(''))
const name = fc.oneof(
  likeRoot,
  plainRoot,
  fc.constantFrom('default', 'web', 'WEB ', '', ' ', 'response-wrapping'),
  fc.string({ maxLength: 6 }),
)

/** Trimmed and lower-cased, nothing else: docs/contract/tokens-and-policies.md#policies */
const isRoot = (written: string) => /^\s*[rR][oO][oO][tT]\s*$/.test(written)

test('a list of names is root exactly when one of them is the four letters, in any case, with nothing but blanks around', () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 4 }), fc.boolean(), (names, addDefault) => {
      const clean = sanitize(names, addDefault)

      if (names.some(isRoot)) expect(clean).toEqual(['root'])
      else expect(clean).not.toContain('root')
    }),
    { numRuns: 5_000 },
  )
})

test('clean names are clean already: once more, in another order or twice changes nothing', () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 4 }), fc.boolean(), (names, addDefault) => {
      const clean = sanitize(names, addDefault)

      expect(sanitize(clean, addDefault)).toEqual(clean)
      expect(sanitize([...names, ...names].reverse(), addDefault)).toEqual(clean)
    }),
    { numRuns: 2_000 },
  )
})

test('only the four letters are the policy root, and no spelling can write it', async () => {
  await using core = await openCoreView()
  const store = await PolicyStore.open(core)
  const text = 'path "sys/*" { capabilities = ["read"] }'

  await fc.assert(
    fc.asyncProperty(fc.oneof(likeRoot, plainRoot), async (written) => {
      if (isRoot(written)) {
        await expect(store.put('root', written, text)).rejects.toThrow('cannot update "root" policy')
        await expect(store.delete('root', written)).rejects.toThrow('cannot delete "root" policy')
      } else {
        await store.put('root', written, text)
        const acl = await store.aclFor('root', sanitize([written], true), { now: 0 })
        expect(acl).not.toBe(rootAcl)
        expect(acl.decide({ operation: 'update', path: 'sys/mounts/x' }).allowed).toBe(false)
      }
      expect(await store.get('root', 'root')).toEqual({ name: 'root', text: '' })
    }),
    { numRuns: 300 },
  )
})
