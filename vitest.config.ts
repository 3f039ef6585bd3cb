import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { CountReporter } from './test/support/count-reporter.ts'

const every = ['test/**/*.test.ts']
/** They look at the process they run in: nothing of other files may be in it. */
const alone = ['test/http/limits.test.ts']

/**
 * They run once more with two servers over one database, whose requests alternate between them.
 * docs/replicas.md#tests-with-two-servers
 */
const replicated = [
  'test/plugins/token/{accessors,concurrency,roles}.test.ts',
  'test/plugins/sys/{capabilities,cors,lease-races,leases,mounts,namespaces,policies,wrapping}.test.ts',
  'test/plugins/identity/{entities,entity-aliases,group-aliases,identity-races,merge}.test.ts',
  'test/plugins/identity/{oidc,oidc-clients,oidc-races}.test.ts',
  'test/plugins/custom-messages/messages-{added,items,life,list}.test.ts',
  'test/plugins/cubbyhole/cubbyhole.test.ts',
  'test/plugins/jwt-auth/one-time.test.ts',
  'test/history/{ids-elsewhere,namespaces}.test.ts',
]
const replicas = { TEST_REPLICAS: '2' }

export default defineConfig({
  test: {
    reporters: ['default', new CountReporter()],
    // each file brings servers, threads and processes of its own: more at once only makes them wait for each
    // other
    pool: 'forks',
    maxWorkers: 2,
    // what tests start (processes and threads) finds its sources stripped and compiled
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/gatehouse', import.meta.url)) },
    globalSetup: ['test/support/bundle-of-the-run.ts', 'test/support/postgres-of-the-run.ts'],
    setupFiles: ['test/support/seed.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // a busy machine may take long until what is waited for has happened
    expect: { poll: { interval: 20, timeout: 30_000 } },
    passWithNoTests: false,
    projects: [
      { extends: true, test: { name: 'alone', include: alone } },
      // no file leaves anything behind in its process: the next one finds the server loaded and its code warm
      { extends: true, test: { name: 'in turn', include: every, exclude: alone, isolate: false } },
      // `npm test -- --project replicas`
      { extends: true, test: { name: 'replicas', include: replicated, isolate: false, env: replicas } },
    ],
  },
})
