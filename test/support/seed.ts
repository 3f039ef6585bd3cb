import fc from 'fast-check'

/*
 * Random tests use the same inputs each time, so that failures are reproducible and a pass is not luck.
 * `TEST_SEED=random npm test` tries new inputs, and `TEST_SEED=<the printed seed>` repeats those of a
 * failure.
 */
const asked = process.env['TEST_SEED'] ?? '4'

if (asked !== 'random') {
  const seed = Number(asked)
  if (!Number.isSafeInteger(seed))
    throw new Error(`TEST_SEED is a whole number or "random", not ${JSON.stringify(asked)}`)
  fc.configureGlobal({ seed })
}
