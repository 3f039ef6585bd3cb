import type { Core } from '../../../core/open/core.ts'
import { type InstalledVersion, versionHistory } from '../../../core/open/version-history.ts'
import { refuse } from '../../../errors.ts'
import { type RequestInProgress, type Resource, resource } from '../../../http/resource/resource.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { answers } from '../answers/answers.ts'

export type InFlightParts = { requestsInProgress(): readonly RequestInProgress[] }

/**
 * What the server says about itself: the servers that share the storage, versions, requests in progress, and counters
 * for the namespace of the request. docs/contract/node.md, docs/contract/http.md#help-counters-tools
 */
export const reportResources = (
  { serverList, view, counts }: Pick<Core, 'serverList' | 'view' | 'counts'>,
  { requestsInProgress }: InFlightParts,
): Resource[] => [
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
  resource('/in-flight-req', {
    help: 'The requests that this server is working on.',
    read: {
      summary: 'List the requests in progress',
      ...answers.inFlight,
      handle: () => {
        const shown = requestsInProgress().map(({ call, startedAt }) => [
          call.requestId,
          {
            start_time: formatTime(startedAt),
            client_remote_address: call.remoteAddress,
            request_path: `/v1/${call.namespace?.path ?? ''}${call.path}`,
            request_method: call.verb,
            client_id: call.caller?.token.entity_id ?? '',
          },
        ])
        const body = `${JSON.stringify(Object.fromEntries(shown))}\n`
        return { raw: { status: 200, contentType: 'application/json', body } }
      },
    },
  }),
  resource('/internal/counters/tokens', {
    help: 'How many valid service tokens the namespace has; the count may be some seconds old.',
    read: {
      summary: 'Count service tokens',
      ...answers.serviceTokens,
      handle: async ({ mount }) => ({
        data: { counters: { service_tokens: { total: await counts.serviceTokens.of(mount.namespace) } } },
      }),
    },
  }),
  resource('/internal/counters/entities', {
    help: 'How many entities the namespace has; the count may be some seconds old.',
    read: {
      summary: 'Count entities',
      ...answers.entities,
      handle: async ({ mount }) => ({
        data: { counters: { entities: { total: await counts.entities.of(mount.namespace) } } },
      }),
    },
  }),
  resource('/internal/counters/requests', {
    help: 'Removed: requests are no longer counted.',
    read: {
      summary: 'Removed',
      statuses: [],
      handle: () => {
        throw refuse('missing', 'The functionality has been removed on this path')
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
