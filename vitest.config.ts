import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { CountReporter } from './test/support/count-reporter.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', new CountReporter()],
    // each file brings servers, threads and processes of its own: more at once only makes them wait for each other
    pool: 'forks',
    maxWorkers: 2,
    // no test leaves anything behind in its process: the next file finds the server loaded and its code warm
    isolate: false,
    // what tests start (processes and threads) finds its sources stripped and compiled
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/gatehouse', import.meta.url)) },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    passWithNoTests: false,
  },
})
