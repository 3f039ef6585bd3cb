import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { CountReporter } from './test/support/count-reporter.ts'
import { LongestFirst } from './test/support/longest-first.ts'

const every = ['test/**/*.test.ts']
/** They look at the process they run in: nothing of other files may be in it. */
const alone = ['test/http/limits.test.ts']

/** They repeat features that other files test, on another carrier: only `npm run test:all` runs them. */
const carriers = [
  // rounds of kills and power cuts, where other files let each statement fail in turn
  'test/bench/{chaos,power-cut}.test.ts',
  'test/commands/seal-migrate-killed.test.ts',
  'test/core/barrier/killed-{rotation,sealing}.test.ts',
  'test/core/wrapping/crash.test.ts',
  'test/plugins/cloud/crash.test.ts',
  'test/start/{killed-start,messages,secret-ids,tokens}.test.ts',
  'test/storage/{crash,mutants}.test.ts',
  // clients in Go, generated clients, two more in JavaScript, and another server as a source
  'test/clients/{bao-agent,bao-login,direct,generated,go-ceremonies,migrate-page,migration}.test.ts',
  'test/clients/{hashi-vault-js,node-vault}.test.ts',
  // commands over PostgreSQL
  'test/commands/postgres.test.ts',
  // the chart, the unit and the image, the executable, and what was released earlier
  'test/deploy/*.test.ts',
  'test/release/*.test.ts',
  'test/upgrade/{rolling-release,rolling-upgrade,way-back}.test.ts',
  // features of one server over two, but for those of `replicated`
  'test/replicas/{cloud,cloud-pool,cloud-sign-in,configuration-history}.test.ts',
  'test/replicas/{history,killed,leases,secrets}.test.ts',
  // shells that follow pages and pipelines, and npm
  'test/guides/{directly,gitlab-secrets-manager,pipeline-files,pipelines}.test.ts',
  'test/pages/{cloud-pool,cloud-sign-in,cloud-static-roles,no-secret,recipes}.test.ts',
  'test/simulators/by-hand.test.ts',
  'test/start/{demo,npm,replicas-demo}.test.ts',
  // a front end of others in a browser, and the web UI in another one and on other screens
  'test/browser/messages.test.ts',
  'test/ui/{firefox,tables}.test.ts',
]

/**
 * They run once more with two servers over one database, whose requests alternate between them.
 * docs/replicas.md#tests-with-two-servers
 */
const replicated = [
  'test/plugins/token/{accessors,concurrency,roles}.test.ts',
  'test/plugins/sys/{mounts,wrapping}.test.ts',
  'test/plugins/identity/{identity-races,oidc-races}.test.ts',
  'test/plugins/custom-messages/messages-{items,list}.test.ts',
]

/** Likewise, but only with `npm run test:all`. */
const moreReplicated = [
  'test/browser/messages.test.ts',
  'test/canaries/canaries.test.ts',
  'test/clients/{command-line,conformance,hashi-vault-js,hvac,node-vault,terraform}.test.ts',
  'test/guides/workloads.test.ts',
  'test/history/{ids-elsewhere,namespaces}.test.ts',
  'test/http/{audit,audit-failures,audit-sealing,audit-walk,client-address,conformance,cors}.test.ts',
  'test/http/{closed-server,custom-headers,empty-numbers,explorer,fuzz,help,openapi-fuzz}.test.ts',
  'test/http/{refusal-order,requests,rights,spellings,wrapping-wish}.test.ts',
  'test/http/inline-auth/{caller,effects,leases,refusals,surroundings}.test.ts',
  'test/plugins/mount-type.test.ts',
  'test/plugins/token/{chosen-ids,token}.test.ts',
  'test/plugins/cubbyhole/cubbyhole.test.ts',
  'test/plugins/sys/{api-document,capabilities,cors,counters,lease-races,leases,namespaces}.test.ts',
  'test/plugins/sys/{policies,rotation,snapshot,tools,unseal}.test.ts',
  'test/plugins/identity/{entities,entity-aliases,group-aliases,merge,oidc,oidc-clients}.test.ts',
  'test/plugins/identity/{group-namespaces,group-refresh,groups,identity-namespaces}.test.ts',
  'test/plugins/identity/{moved-mount,names-in-paths,oidc-namespaces,revoke-tokens,tidy}.test.ts',
  'test/plugins/custom-messages/{messages-added,messages-create,messages-life,ui-messages}.test.ts',
  'test/plugins/jwt-auth/{azure-groups,bad-input,config,google-directory,graph-groups}.test.ts',
  'test/plugins/jwt-auth/{hidden-causes,hostile-directory,independent-signer,login,okta-groups}.test.ts',
  'test/plugins/jwt-auth/{one-time,optional-groups,role,unsound-keys}.test.ts',
  'test/plugins/jwt-auth/as-token/as-token.test.ts',
  'test/plugins/jwt-auth/cel/{gitlab,inline,login,roles}.test.ts',
  'test/plugins/jwt-auth/explain/{explain,lint,misconfigurations}.test.ts',
  'test/plugins/jwt-auth/what-if/what-if.test.ts',
  'test/plugins/jwt-auth/scopes/{browser,scopes}.test.ts',
  'test/plugins/jwt-auth/oidc/{attacks,auth-url,callback,certified-provider,confirmation}.test.ts',
  'test/plugins/jwt-auth/oidc/{carried,form-post,hostile-id-token,modes-device,modes-direct,modes-settings}.test.ts',
  'test/plugins/approle/{fields,login,roles,secret-ids}.test.ts',
  'test/plugins/kubernetes/{clients,config,explain,keys,limits,login,renewal,review,selector}.test.ts',
  'test/plugins/kv/{additions,data,first-version,lists,metadata,mounts,paths,versions}.test.ts',
  'test/plugins/userpass/{imported-hashes,lockout,login,users}.test.ts',
  'test/plugins/cloud/{bad-input,mount-end,rights}.test.ts',
  'test/plugins/cloud/config/config.test.ts',
  'test/plugins/cloud/credentials/{credentials,failures,force-revoked,inspection}.test.ts',
  'test/plugins/cloud/credentials/{readiness,tenant-policies}.test.ts',
  'test/plugins/cloud/intents/pending-grants.test.ts',
  'test/plugins/cloud/pool/{handing-out,members}.test.ts',
  'test/plugins/cloud/roles/{persisted-application,role-leases,roles}.test.ts',
  'test/plugins/cloud/root-rotation/rotate-root.test.ts',
  'test/plugins/cloud/upstream/tenant.test.ts',
  'test/properties/{explain-agrees,namespace-isolation,ready-read,spellings}.test.ts',
]
const replicas = { TEST_REPLICAS: '2' }

const isAll = process.env['TEST_ALL'] !== undefined

// the workers, and what tests start (processes and threads), find their sources stripped and compiled
process.env['NODE_COMPILE_CACHE'] = fileURLToPath(new URL('node_modules/.cache/gatehouse', import.meta.url))

/** What only `npm run test:all` runs. */
const beyond: TestProjectInlineConfiguration[] = [
  { extends: true, test: { name: 'carriers', include: carriers, isolate: false } },
  {
    extends: true,
    test: {
      name: 'more replicas',
      include: moreReplicated,
      isolate: false,
      env: { ...replicas, TEST_SIGNATURES: 'unkept' },
    },
  },
]

export default defineConfig({
  test: {
    reporters: ['default', new CountReporter()],
    // each file brings servers, threads and processes of its own, so that many at once only wait for each other.
    // On two processors, a third one runs while another waits for a disk or a timer.
    pool: 'forks',
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Node loads the tests itself: less work than through Vite, which no test needs
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // servers of thousands of tests leave much garbage, most of which dies young. Workers keep all processors
    // busy, so that several threads which collect it together would only wait for each other. Some tests collect it to
    // see what is left.
    execArgv: ['--max-semi-space-size=64', '--single-threaded-gc', '--expose-gc'],
    globalSetup: ['bundle', 'postgres', 'browser'].map((name) => `test/support/${name}-of-the-run.ts`),
    setupFiles: [
      'test/support/source-maps.ts',
      'test/support/seed.ts',
      'test/support/keys-of-the-file.ts',
      'test/support/borrowed-server-of-the-file.ts',
    ],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // a busy machine may take long until what is waited for has happened
    expect: { poll: { interval: 20, timeout: 30_000 } },
    passWithNoTests: false,
    projects: [
      { extends: true, test: { name: 'alone', include: alone } },
      // no file leaves anything behind in its process: the next one finds the server loaded and its code warm
      {
        extends: true,
        test: { name: 'in turn', include: every, exclude: [...alone, ...carriers], isolate: false },
      },
      { extends: true, test: { name: 'replicas', include: replicated, isolate: false, env: replicas } },
      ...(isAll ? beyond : []),
    ],
  },
})
