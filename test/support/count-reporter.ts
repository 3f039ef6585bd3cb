import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/**
 * Ends the output of a run with `N passed, N failed`, in machine-readable form, and `, N skipped` if there
 * are any. Errors outside of tests count as failed.
 */
export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0
    let skipped = 0
    let failed = unhandled.length
    for (const module of modules) {
      let failedHere = 0
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed++
        if (state === 'skipped') skipped++
        if (state === 'failed') failedHere++
      }
      failed += failedHere === 0 && !module.ok() ? 1 : failedHere
    }
    process.stdout.write(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}\n`)
  }
}
