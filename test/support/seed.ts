import fc from 'fast-check'

/*
 * Random tests take the same inputs each time, so that what fails here fails for the next one too, and what passes is not luck. New inputs are looked for with
 * `TEST_SEED=random npm test`, the inputs of a failure come back with `TEST_SEED=<the seed it prints>`.
 */
const asked = process.env['TEST_SEED'] ?? '4'

if (asked !== 'random') {
  const seed = Number(asked)
  if (!Number.isSafeInteger(seed))
    throw new Error(`TEST_SEED is a whole number or "random", not ${JSON.stringify(asked)}`)
  fc.configureGlobal({ seed })
}
