import type { RequestInProgress, Resource } from '../../../http/resource/resource.ts'
import { resource } from '../../../http/resource/resource.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { answers } from '../answers/answers.ts'

export type InFlightParts = { requestsInProgress(): readonly RequestInProgress[] }

/** `sys/in-flight-req`. docs/contract/node.md#requests-in-progress */
export const inFlightResources = ({ requestsInProgress }: InFlightParts): Resource[] => [
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
]
