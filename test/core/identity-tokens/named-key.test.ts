import { describe, expect, test } from 'vitest'
import {
  allowsClient,
  changedSettings,
  defaultKeySettings,
  formerKeysOf,
  isFullOfFormerKeys,
  type KeySettings,
  nextChangeOf,
  rotated,
  withSettings,
} from '../../../src/core/identity-tokens/named-key.ts'
import type { SigningKey } from '../../../src/core/identity-tokens/signing-key.ts'

const settings: KeySettings = {
  algorithm: 'ES256',
  rotation_period: 3600,
  verification_ttl: 7200,
  allowed_client_ids: ['*'],
}
const pair = (kid: string): SigningKey => ({
  publicKey: { kid, alg: 'ES256', kty: 'EC', use: 'sig' },
  privateKey: { kty: 'EC', d: 'secret' },
})
const aKey = () => withSettings(undefined, settings, { signing: pair('one'), next: pair('two') }, 0)
const hour = 3_600_000
const published = (key: ReturnType<typeof aKey>, now: number) =>
  [key.signing, key.next, ...formerKeysOf(key, now)].map(({ publicKey }) => publicKey.kid)

const outcome = (before: KeySettings | undefined, sent: object, longestRoleTtl = 0): unknown => {
  try {
    return changedSettings('k', before, sent, longestRoleTtl)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

describe('settings of a key', () => {
  test('a field that is left out gets its default, and keeps its value in later writes', () => {
    expect(outcome(undefined, {})).toEqual({
      algorithm: 'RS256',
      rotation_period: 86_400,
      verification_ttl: 86_400,
      allowed_client_ids: [],
    })
    expect(outcome(settings, { verification_ttl: 60 })).toEqual({ ...settings, verification_ttl: 60 })
    expect(defaultKeySettings).toMatchObject({ algorithm: 'RS256', allowed_client_ids: ['*'] })
  })

  test.each([
    [{ rotation_period: 59 }, 'rotation_period must be at least one minute'],
    [{ rotation_period: 59, algorithm: 'x' }, 'rotation_period must be at least one minute'],
    [
      { rotation_period: 60, verification_ttl: 601 },
      'verification_ttl cannot be longer than 10x rotation_period',
    ],
    [{ algorithm: 'es256' }, 'unknown signing algorithm "es256"'],
    [{ algorithm: 'PS256' }, 'unknown signing algorithm "PS256"'],
    [{ algorithm: 'none' }, 'unknown signing algorithm "none"'],
    [{ algorithm: '' }, 'unknown signing algorithm ""'],
    [{ algorithm: '__proto__' }, 'unknown signing algorithm "__proto__"'],
  ])('%j: %s', (sent, text) => {
    expect(outcome(settings, sent)).toBe(text)
  })

  test('a period of 60 s and a lifetime of exactly ten periods are allowed', () => {
    expect(outcome(settings, { rotation_period: 60, verification_ttl: 600 })).toMatchObject({
      rotation_period: 60,
      verification_ttl: 600,
    })
  })

  test('no role can issue tokens that outlive the public key', () => {
    expect(outcome(settings, { verification_ttl: 3599 }, 3600)).toBe(
      'unable to update key "k" because it is currently referenced by one or more roles with a token ttl greater than 3599 seconds',
    )
    expect(outcome(settings, { verification_ttl: 3600 }, 3600)).toMatchObject({ verification_ttl: 3600 })
  })

  test('the key decides who may use it', () => {
    expect(
      [[], ['*'], ['a'], ['b'], ['A']].map((allowed) =>
        allowsClient({ ...settings, allowed_client_ids: allowed }, 'a'),
      ),
    ).toEqual([false, true, true, false, false])
  })
})

describe('rotation', () => {
  test('a new key publishes the pair that signs and the next one', () => {
    expect(published(aKey(), 0)).toEqual(['one', 'two'])
    expect(aKey().next_rotation).toBe(hour)
  })

  test('the next pair signs, and the former one stays as long as requested', () => {
    const key = rotated(aKey(), pair('three'), 7200, hour)

    expect([key.signing.publicKey.kid, key.next.publicKey.kid, key.next_rotation]).toEqual([
      'two',
      'three',
      2 * hour,
    ])
    expect(published(key, 3 * hour - 1)).toEqual(['two', 'three', 'one'])
    expect(published(key, 3 * hour)).toEqual(['two', 'three'])
    expect(nextChangeOf(key, hour)).toBe(2 * hour)
    expect(published(rotated(aKey(), pair('three'), 0, hour), hour)).toEqual(['two', 'three'])
  })

  test('expired keys are forgotten, their private halves at once', () => {
    const key = rotated(rotated(aKey(), pair('three'), 10, 0), pair('four'), 10, 10_000)

    expect(key.former.map(({ publicKey }) => publicKey.kid)).toEqual(['two'])
    expect(JSON.stringify(key.former)).not.toContain('secret')
  })

  test('after a change of algorithm new pairs sign, and the former public keys stay', () => {
    const key = withSettings(
      aKey(),
      { ...settings, algorithm: 'ES384' },
      { signing: pair('three'), next: pair('four') },
      1000,
    )

    expect(published(key, 1000)).toEqual(['three', 'four', 'one', 'two'])
    expect(published(key, 1000 + 2 * hour)).toEqual(['three', 'four'])
  })

  test('a shorter period counts from now, a longer one from the next rotation', () => {
    expect(withSettings(aKey(), { ...settings, rotation_period: 60 }, undefined, 1000).next_rotation).toBe(
      61_000,
    )
    expect(
      withSettings(aKey(), { ...settings, rotation_period: 86_400 }, undefined, 1000).next_rotation,
    ).toBe(hour)
  })

  test('at most a hundred former keys are kept', () => {
    let key = aKey()
    for (let round = 0; round < 120; round++) key = rotated(key, pair(`n${round}`), 7200, round)

    expect(key.former.length).toBe(100)
    expect(isFullOfFormerKeys(key, 200)).toBe(true)
    expect(isFullOfFormerKeys(key, 3 * hour)).toBe(false)
  })
})
