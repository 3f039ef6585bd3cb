import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, first ones first, without `.test.ts`: each would keep one processor busy at the end of
 * a run while the others have nothing to do. Vitest knows the times of an earlier run, but a fresh clone has none.
 */
const longest = [
  'release/folder',
  'upgrade/rolling-release',
  'http/limits',
  'plugins/cloud/crash',
  'start/stop',
  'plugins/cloud/upstream/every-call',
  'commands/import',
  'plugins/cloud/root-rotation/rotate-certificate',
  'plugins/cloud/credentials/failures',
  'ui/cloud',
  'ui/secrets',
  'replicas/seal',
  'replicas/cloud-sign-in',
  'http/tls',
  'commands/backup',
  'start/missing-disk',
  'pages/recipes',
  'plugins/custom-messages/messages-life',
  'plugins/jwt-auth/oidc/callback',
  'plugins/jwt-auth/oidc/attacks',
  'plugins/jwt-auth/oidc/many-logins',
  'plugins/cloud/sign-in/modes',
  'plugins/cloud/broken-storage',
  'canaries/canaries',
  'workers/workers',
  'plugins/identity/identity-races',
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
