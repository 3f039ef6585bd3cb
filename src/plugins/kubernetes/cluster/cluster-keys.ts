import { OutboundError } from '../../../core/outbound/outbound.ts'
import type { CheckQueue } from '../../../jwt/jws/check-queue.ts'
import { KeyFetchError } from '../../../jwt/keys/fetch-jwk-set.ts'
import { JwkSet } from '../../../jwt/keys/jwk-set.ts'
import { JwksKeyset } from '../../../jwt/keys/keyset.ts'
import { failureLimit, missLimit, SharedSource } from '../../../jwt/keys/shared-sources.ts'
import { Buckets } from '../../../lib/concurrency/buckets.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import type { ReadyConfig } from '../config/config.ts'
import { type ClusterAnswer, jsonOf, shownAnswer } from './answers.ts'
import { type ClusterClient, loginTimeMs, type Request } from './cluster-client.ts'

type Parts = {
  readonly client: ClusterClient
  readonly clock: Clock
  readonly queue: CheckQueue
  readonly maxTokenSize: number
}

const discoveryPath = '/.well-known/openid-configuration'

/** The keys that a cluster publishes, as a mount of type `jwt` keeps those of its issuer. docs/contract/kubernetes.md#keys */
export function clusterKeys(ready: ReadyConfig, { client, clock, queue, maxTokenSize }: Parts): JwksKeyset {
  const place = { url: ready.url + discoveryPath, caPem: ready.config.kubernetes_ca_cert }
  const source = new SharedSource({
    place,
    clock,
    numbers: { last: 0 },
    limits: { misses: new Buckets(clock, missLimit), failures: new Buckets(clock, failureLimit) },
    fetch: () => fetchKeys(ready, client),
  })
  return new JwksKeyset(place, {
    sources: { keySet: () => source },
    fetchedAfter: 0,
    onFetch: () => {},
    clock,
    queue,
    limits: { maxTokenSize },
  })
}

async function fetchKeys(ready: ReadyConfig, client: ClusterClient): Promise<JwkSet> {
  const asking = { ready, jwt: '', endsAt: performance.now() + loginTimeMs }
  const read = async (request: Request): Promise<ClusterAnswer> => {
    const answer = await client.ask(asking, request).catch((cause: unknown) => {
      throw cause instanceof OutboundError ? new KeyFetchError(cause.message, { cause }) : cause
    })
    if (answer.status === 200) return answer
    throw new KeyFetchError(`${request.path}: ${shownAnswer(answer)}`)
  }
  const document: { issuer?: unknown; jwks_uri?: unknown } = Object(
    jsonOf((await read({ path: discoveryPath })).body),
  )
  const { issuer } = ready.config
  if (document.issuer !== issuer)
    throw new KeyFetchError(`issuer ${quoted(issuer)} expected, the cluster names another`)
  const keys = await read(keyRequest(document.jwks_uri, ready))
  try {
    return new JwkSet(Buffer.from(keys.body))
  } catch (cause) {
    throw new KeyFetchError('failed to decode keys', { cause })
  }
}

/** API servers announce an inner address: of an address elsewhere, only the path counts. */
function keyRequest(announced: unknown, { url, config }: ReadyConfig): Request {
  const target = typeof announced === 'string' ? URL.parse(announced) : null
  if (target === null) throw new KeyFetchError('the discovery document names no jwks_uri')
  const { origin, protocol, pathname, search } = target
  const isNamed =
    origin === URL.parse(url)?.origin ||
    (origin === URL.parse(config.issuer)?.origin && protocol === 'https:')
  return isNamed ? { path: pathname + search, origin } : { path: pathname }
}
