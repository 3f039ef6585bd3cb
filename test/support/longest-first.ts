import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** They collect garbage, which takes least while a process has run few files. */
const collecting = ['http/heads', 'http/repeated-requests', 'http/closed-server']

/**
 * The files that take longest, first ones first, without `.test.ts`: each would keep one processor busy at the end of
 * a run while the others have nothing to do. Vitest knows the times of an earlier run, but a fresh clone has none.
 */
const longest = [
  ...collecting,
  'release/folder',
  'clients/generated',
  'clients/migration',
  'plugins/cloud/crash',
  'clients/migrate-page',
  'plugins/cloud/pool/members',
  'start/stop',
  'release/first-run',
  'pages/recipes',
  'release/pod',
  'canaries/canaries',
  'commands/seal-migrate',
  'upgrade/rolling-release',
  'replicas/seal',
  'core/audit/device',
  'replicas/database',
  'replicas/jobs',
  'ui/cloud',
  'ui/secrets',
  'ui/access',
  'ui/login-editors',
  'commands/import',
  'http/limits',
  'ui/messages',
  'commands/backup',
  'workers/workers',
  'pages/cloud-sign-in',
  'properties/what-if-agrees',
  'ui/refused-logins',
  'ui/leases',
  'ui/tables',
  'ui/logins',
  'ui/wayward-paths',
  'http/tls',
  'ui/system',
  'commands/migrate',
  'start/killed-start',
  'start/refused-start',
  'ui/provider-login',
  'ui/whole',
  'plugins/cloud/upstream/every-call',
  'ui/pod-logins',
  'commands/root-token',
  'plugins/sys/api-document',
  'http/inline-auth/leases',
  'plugins/sys/wrapping',
].map((name) => `/test/${name}.test.ts`)

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = longest.findIndex((name) => moduleId.endsWith(name))
  return rank === -1 ? longest.length : rank
}

/** Starts the longest files of each project first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project)
    return [...byProject.values()].flatMap((some) =>
      some.toSorted((one, other) => rankOf(one) - rankOf(other)),
    )
  }
}
