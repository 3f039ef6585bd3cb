import { refuse } from '../../../errors.ts'
import { checkMayReach, type Resource, resource, type StreamedBody } from '../../../http/resource/resource.ts'

export type SnapshotParts = {
  readonly clusterId: string
  /** Ends early with the signal. Undefined if the storage is in memory. */
  readonly takeSnapshot: ((clusterId: string, signal: AbortSignal) => Promise<StreamedBody>) | undefined
}

/** `sys/storage/snapshot`: a backup for whoever may call it. docs/operations.md#make-a-backup */
export const snapshotResources = ({ clusterId, takeSnapshot }: SnapshotParts): Resource[] => [
  resource('/storage/snapshot', {
    help: 'A backup of the whole store. Its values are sealed as they are stored.',
    sudo: true,
    read: {
      summary: 'Make a backup',
      form: 'file',
      handle: async (exchange) => {
        const { whenGone } = exchange
        checkMayReach(exchange, { operation: 'read', path: 'storage/raft/snapshot' })
        if (takeSnapshot === undefined) throw refuse('invalid', 'storage in memory has no snapshot')
        const leaving = new AbortController()
        const stopListening = whenGone(() => leaving.abort())
        try {
          const stream = await takeSnapshot(clusterId, leaving.signal)
          const headers = { 'content-disposition': 'attachment; filename="gatehouse-backup.db"' }
          return { raw: { status: 200, contentType: 'application/octet-stream', body: '', headers, stream } }
        } finally {
          stopListening()
        }
      },
    },
  }),
]
