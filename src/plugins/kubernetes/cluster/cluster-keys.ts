import { OutboundError } from '../../../core/outbound/outbound.ts'
import type { CheckQueue } from '../../../jwt/jws/check-queue.ts'
import { KeyFetchError } from '../../../jwt/keys/fetch-jwk-set.ts'
import { JwkSet } from '../../../jwt/keys/jwk-set.ts'
import { JwksKeyset, type KeysetSource, StaticKeyset } from '../../../jwt/keys/keyset.ts'
import { allowedKeys } from '../../../jwt/keys/pins.ts'
import { failureLimit, missLimit, type OnFetch, SharedSource } from '../../../jwt/keys/shared-sources.ts'
import { Buckets } from '../../../lib/concurrency/buckets.ts'
import type { Clock } from '../../../lib/system/clock.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { byKeys, type ReadyConfig } from '../config/config.ts'
import { type ClusterAnswer, jsonOf, shownAnswer } from './answers.ts'
import { type ClusterClient, loginTimeMs, type Request } from './cluster-client.ts'

type Parts = {
  readonly client: ClusterClient
  readonly clock: Clock
  readonly queue: CheckQueue
  readonly maxTokenSize: number
  readonly onFetch: OnFetch
}

const discoveryPath = '/.well-known/openid-configuration'

/** The keys that verify tokens of a cluster. */
export type ClusterKeys = Pick<JwksKeyset, 'verifySignature' | 'sources' | 'refresh'>

/**
 * The keys in the configuration, or those that the cluster publishes; undefined if the cluster alone judges.
 * docs/contract/kubernetes.md#keys
 */
export function clusterKeys(ready: ReadyConfig, parts: Parts): ClusterKeys | undefined {
  const { config, keys } = ready
  const { clock, queue, maxTokenSize } = parts
  const common = {
    ...{ clock, queue, limits: { maxTokenSize } },
    allowed: allowedKeys(config.allowed_key_thumbprints),
  }
  if (keys.length > 0)
    return new StaticKeyset(
      keys.map((key) => ({ key })),
      common,
    )
  return byKeys(ready) ? publishedKeys(ready, parts, common) : undefined
}

/** As a mount of type `jwt` keeps the keys of its issuer. */
function publishedKeys(
  ready: ReadyConfig,
  { client, clock, onFetch }: Parts,
  common: ConstructorParameters<typeof StaticKeyset>[1],
): ClusterKeys {
  const place = { url: ready.url + discoveryPath, caPem: ready.config.kubernetes_ca_cert }
  let document: KeysetSource['document']
  const source = new SharedSource({
    place,
    clock,
    numbers: { last: 0 },
    limits: { misses: new Buckets(clock, missLimit), failures: new Buckets(clock, failureLimit) },
    fetch: () =>
      fetchKeys(ready, client, (seen) => {
        document = { at: clock.now(), ...seen }
      }),
  })
  const keyset = new JwksKeyset(place, {
    ...common,
    sources: { keySet: () => source },
    fetchedAfter: 0,
    onFetch,
  })
  return {
    verifySignature: (jws, client) => keyset.verifySignature(jws, client),
    sources: () => keyset.sources().map((published) => ({ ...published, document })),
    refresh: () => keyset.refresh(),
  }
}

type SeenDocument = Omit<NonNullable<KeysetSource['document']>, 'at'>

async function fetchKeys(
  ready: ReadyConfig,
  client: ClusterClient,
  onDocument: (seen: SeenDocument) => void,
): Promise<JwkSet> {
  const asking = { ready, jwt: '', endsAt: performance.now() + loginTimeMs }
  const read = async (request: Request): Promise<ClusterAnswer> => {
    const answer = await client.ask(asking, request).catch((cause: unknown) => {
      throw cause instanceof OutboundError ? new KeyFetchError(cause.message, { cause }) : cause
    })
    if (answer.status === 200) return answer
    throw new KeyFetchError(`${request.path}: ${shownAnswer(answer)}`, {
      withoutBody: `${request.path}: ${answer.status}`,
    })
  }
  const document: { issuer?: unknown; jwks_uri?: unknown } = Object(
    jsonOf((await read({ path: discoveryPath })).body),
  )
  const { issuer } = ready.config
  if (document.issuer !== issuer) {
    onDocument({ issuer: typeof document.issuer === 'string' ? document.issuer : '' })
    throw new KeyFetchError(`issuer ${quoted(issuer)} expected, the cluster names another`)
  }
  const { jwks_uri } = document
  onDocument({ issuer, value: typeof jwks_uri === 'string' ? { jwks_uri } : {} })
  const keys = await read(keyRequest(jwks_uri, ready))
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
