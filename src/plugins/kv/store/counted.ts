import type { Mount } from '../../../core/mounts/mount.ts'
import { ServiceError } from '../../../errors.ts'
import type { Reply, Resource } from '../../../http/resource/resource.ts'

export type KvOperation = { readonly operation: string; readonly result: string }

type Count = (mount: Mount, done: KvOperation) => void

/** The same resource, whose operations are counted. A label never names a secret. */
export function counted(resource: Resource, count: Count): Resource {
  const name = resource.path.split('/')[1] ?? ''
  const verbs: Resource['verbs'] = Object.fromEntries(
    Object.entries(resource.verbs).map(([verb, served]) => {
      const operation = operationOf(name, verb)
      const handle: typeof served.handle = async (exchange) => {
        try {
          const reply = await served.handle(exchange)
          count(exchange.mount, { operation, result: resultOf(reply, verb) })
          return reply
        } catch (error) {
          count(exchange.mount, { operation, result: failureOf(error) })
          throw error
        }
      }
      return [verb, { ...served, handle }]
    }),
  )
  return { ...resource, verbs }
}

/** `read`, `write` … for data; `metadata-read` … for the rest; the name alone where there is one verb. */
function operationOf(name: string, verb: string): string {
  if (name === 'data' || name === '*') return verb
  const isOnly = ['delete', 'undelete', 'destroy', 'subkeys', 'restore', 'copy', 'move'].includes(name)
  return isOnly ? `versions-${name}` : `${name}-${verb}`
}

function resultOf(reply: Reply | undefined, verb: string): string {
  const isMissing = reply === undefined ? verb === 'read' : reply.status === 404 || reply.raw?.status === 404
  return isMissing ? 'missing' : 'ok'
}

function failureOf(error: unknown): string {
  if (!(error instanceof ServiceError)) return 'failed'
  if (error.kind === 'missing') return 'missing'
  return error.kind === 'internal' || error.kind === 'unavailable' ? 'failed' : 'refused'
}
