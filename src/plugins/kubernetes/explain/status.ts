import type { Mount } from '../../../core/mounts/mount.ts'
import { bestOffset } from '../../../jwt/keys/clock-offset.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { LastReview } from '../cluster/questions.ts'
import type { Config } from '../config/config.ts'
import type { KubernetesMethod } from '../method.ts'

const unconfigured = {
  ok: false,
  type: 'kubernetes',
  verification: '',
  host: '',
  reviewer: '',
  ca: '',
  problems: [],
  last_review: null,
  keys: [],
  clock_offset_seconds: null,
}

/** docs/contract/kubernetes.md#status */
export async function statusOf(
  method: KubernetesMethod,
  mount: Mount,
  { refresh }: { readonly refresh: boolean },
): Promise<object> {
  const place = method.places.of(mount)
  const ready = await place.config.find()
  if (ready === undefined) return unconfigured
  const problems = [...problemsOf(ready.config), ...(refresh ? await method.askNow(mount, ready) : [])]
  const { config } = ready
  // as they are after the question
  const last = place.lastReview
  const sources = place.keys?.keyset?.sources() ?? []
  const histories = sources.flatMap((source) => source.histories)
  return {
    ok:
      problems.length === 0 &&
      !isTrouble(last) &&
      histories.every(({ isReachable }) => isReachable !== false),
    type: 'kubernetes',
    verification: config.verification,
    host: config.kubernetes_host,
    reviewer: await method.askerOf(mount),
    ca: authorityOf(config),
    problems,
    last_review: shownReview(last),
    keys: sources.flatMap(({ keys }) => keys.map(({ id }) => id)),
    clock_offset_seconds: bestOffset(histories.flatMap(({ offset }) => offset ?? []))?.seconds ?? null,
  }
}

const problemsOf = ({ token_reviewer_jwt: token }: Config): string[] =>
  /^bearer\s/i.test(token) ? ['token_reviewer_jwt begins with "Bearer": write the token alone'] : []

/** A token that the cluster refuses says nothing about the mount. */
const isTrouble = (last: LastReview | undefined): boolean =>
  last !== undefined && !['', 'review_refused', 'review_mismatch'].includes(last.reason)

const shownReview = (last: LastReview | undefined): object | null =>
  last === undefined
    ? null
    : { time: formatTime(last.time), ok: last.reason === '', reason: last.reason, text: last.text }

function authorityOf({ kubernetes_ca_cert, disable_local_ca_jwt }: Config): 'configured' | 'file' | 'system' {
  if (kubernetes_ca_cert !== '') return 'configured'
  return disable_local_ca_jwt ? 'system' : 'file'
}
