import type { Core } from '../../../core/open/core.ts'
import { type InstalledVersion, versionHistory } from '../../../core/open/version-history.ts'
import { type Resource, resource } from '../../../http/resource/resource.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { answers } from '../answers/answers.ts'

/** `sys/version-history`. docs/contract/node.md#versions */
export const versionHistoryResources = ({ view }: Pick<Core, 'view'>): Resource[] => [
  resource('/version-history', {
    help: 'The versions of Gatehouse that have used this store.',
    collection: true,
    list: {
      summary: 'List the versions that have used this store',
      ...answers.versionHistory,
      handle: async () => {
        const versions = await versionHistory(view)
        return {
          data: {
            keys: versions.map(({ version }) => version),
            key_info: Object.fromEntries(versions.map((one) => [one.version, shown(one)])),
          },
        }
      },
    },
  }),
]

// Vault's command line prints them: a version that did not note its date was made before it was installed
const shown = ({ installed, previous, made = formatTime(installed) }: InstalledVersion) => ({
  build_date: made,
  commit_date: made,
  previous_version: previous,
  timestamp_installed: formatTime(installed),
})
