import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lifetime } from '../../src/core/tokens/store/lifetime.ts'
import { goDuration, parseDuration, shortDuration } from '../../src/lib/text/go-duration.ts'
import { modelLifetime, shortForm } from './lifetime-model.ts'

// Few values far apart and the ones beside them, so that limits meet; and any whole seconds a duration on the
// wire can have.
const near = fc
  .tuple(fc.constantFrom(0, 60, 3600, 5400, 86_400, 2_764_800), fc.integer({ min: -1, max: 1 }))
  .map(([at, step]) => Math.max(0, at + step))
const anySeconds = fc.integer({ min: 0, max: 9_223_372_036 })
const seconds = fc.oneof(
  { weight: 2, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: near },
  { weight: 1, arbitrary: anySeconds },
)
const positive = fc.oneof(near, anySeconds).map((value) => Math.max(1, value))
const elapsedMs = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 3_000 }),
  seconds.chain((s) => fc.integer({ min: s * 1000, max: s * 1000 + 1_999 })),
)
const startMs = fc.integer({ min: 1_600_000_000_000, max: 1_600_000_001_999 })

test("a TTL and its warnings equal those of the model's four steps, to the second", () => {
  const terms = fc.record({
    increment: seconds,
    ttl: seconds,
    period: seconds,
    maxTtl: seconds,
    explicitMaxTtl: seconds,
  })
  fc.assert(
    fc.property(
      positive,
      positive,
      terms,
      startMs,
      elapsedMs,
      (defaultTtl, maxTtl, asked, start, elapsed) => {
        const got = lifetime({ defaultTtl, maxTtl }, asked, start + elapsed, start)

        const expected = modelLifetime({
          mountDefault: BigInt(defaultTtl),
          mountMax: BigInt(maxTtl),
          increment: BigInt(asked.increment),
          ttl: BigInt(asked.ttl),
          period: BigInt(asked.period),
          maxTtl: BigInt(asked.maxTtl),
          explicitMax: BigInt(asked.explicitMaxTtl),
          startMs: BigInt(start),
          nowMs: BigInt(start + elapsed),
        })
        if (typeof expected === 'string') expect(got).toEqual({ ok: false, reason: expected })
        else expect(got).toEqual({ ok: true, ttl: Number(expected.seconds), warnings: expected.warnings })
      },
    ),
    { numRuns: 20_000 },
  )
})

test('a term that is not set and one of 0 are the same', () => {
  const terms = fc.record({
    increment: seconds,
    ttl: seconds,
    period: seconds,
    maxTtl: seconds,
    explicitMaxTtl: seconds,
  })
  fc.assert(
    fc.property(positive, positive, terms, startMs, (defaultTtl, maxTtl, asked, now) => {
      const withoutZeros = Object.fromEntries(Object.entries(asked).filter(([, value]) => value > 0))

      expect(lifetime({ defaultTtl, maxTtl }, withoutZeros, now)).toEqual(
        lifetime({ defaultTtl, maxTtl }, asked, now),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('the short form of any seconds is that of the model, and both forms read back as the same seconds', () => {
  fc.assert(
    fc.property(fc.oneof(near, anySeconds), (value) => {
      expect(shortDuration(value)).toBe(shortForm(BigInt(value)))
      expect(parseDuration(shortDuration(value))).toEqual({ seconds: value })
      expect(parseDuration(goDuration(value))).toEqual({ seconds: value })
    }),
    { numRuns: 5_000 },
  )
})
