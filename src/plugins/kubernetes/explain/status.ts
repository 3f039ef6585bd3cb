import type { Mount } from '../../../core/mounts/mount.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { Config } from '../config/config.ts'
import type { KubernetesMethod } from '../method.ts'

/** docs/contract/kubernetes.md#status */
export async function statusOf(
  method: KubernetesMethod,
  mount: Mount,
  { refresh }: { readonly refresh: boolean },
): Promise<object> {
  const ready = await method.configOf(mount)
  if (ready === undefined)
    return {
      ok: false,
      type: 'kubernetes',
      verification: '',
      host: '',
      reviewer: '',
      ca: '',
      last_review: null,
    }
  if (refresh) await method.reviewReviewer(mount, ready)
  const last = method.lastReviewOf(mount)
  const { config } = ready
  return {
    // a token that the cluster refuses says nothing about the mount
    ok: last === undefined || last.reason === '' || theirs.has(last.reason),
    type: 'kubernetes',
    verification: config.verification,
    host: config.kubernetes_host,
    reviewer: await method.askerOf(mount, ready),
    ca: authorityOf(config),
    last_review: last
      ? { time: formatTime(last.time), ok: last.reason === '', reason: last.reason, text: last.text }
      : null,
  }
}

const theirs: ReadonlySet<string> = new Set(['review_refused', 'review_mismatch'])

function authorityOf({ kubernetes_ca_cert, disable_local_ca_jwt }: Config): 'configured' | 'file' | 'system' {
  if (kubernetes_ca_cert !== '') return 'configured'
  return disable_local_ca_jwt ? 'system' : 'file'
}
