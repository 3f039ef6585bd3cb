/** The explanation with only its failed checks, and a count of those that passed. */
export function failedChecksOf(data: unknown): unknown {
  if (typeof data !== 'object' || data === null || !('checks' in data) || !Array.isArray(data.checks))
    throw new Error('an explanation has checks')
  // every check has a verdict
  const checks: { verdict: string }[] = data.checks
  const passed = checks.filter(({ verdict }) => verdict === 'pass').length
  return { ...data, checks: checks.filter(({ verdict }) => verdict === 'fail'), 'checks that passed': passed }
}
