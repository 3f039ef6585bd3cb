import type { Core } from '../../../core/open/core.ts'
import { type Resource, resource } from '../../../http/resource/resource.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { answers } from '../answers/answers.ts'

/** `sys/ha-status`: the servers that share the storage. docs/contract/node.md#servers */
export const haStatusResources = ({ serverList }: Pick<Core, 'serverList'>): Resource[] => [
  resource('/ha-status', {
    help: 'The servers that share this storage. All of them serve requests.',
    read: {
      summary: 'List the servers',
      ...answers.haStatus,
      handle: async () => ({
        data: {
          nodes: (await serverList.live()).map(({ name, lastSeenMs, isOwn, address, version }) => ({
            hostname: name,
            api_address: address,
            cluster_address: '',
            active_node: true,
            last_echo: isOwn ? null : formatTime(lastSeenMs),
            version,
          })),
        },
      }),
    },
  }),
]
