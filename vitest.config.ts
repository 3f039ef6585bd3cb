import { defineConfig } from 'vitest/config'
import { CountReporter } from './test/support/count-reporter.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', new CountReporter()],
    // each file brings servers, threads and processes of its own: more at once only makes them wait for each other
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    passWithNoTests: false,
  },
})
