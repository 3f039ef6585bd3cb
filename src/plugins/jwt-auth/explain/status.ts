import { supportedAlgorithms } from '../../../jwt/jws/algorithms.ts'
import { bestOffset } from '../../../jwt/keys/clock-offset.ts'
import { emptySet, type UsableKey } from '../../../jwt/keys/jwk-set.ts'
import type { KeysetSource } from '../../../jwt/keys/keyset.ts'
import { algorithmsOfKey } from '../../../jwt/observatory/key-facts.ts'
import type { JsonValue } from '../../../lib/text/json.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { redactUrl } from '../../../logins/refusals/redact.ts'
import { hasOidcClient } from '../config/jwt-config.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import { shown, shownList } from './shown.ts'

/** A refused configuration: when and why. */
export type RefusedConfig = { readonly time: number; readonly text: string }

/** docs/explain.md */
export type MountStatus = {
  readonly ready: ReadyConfig | undefined
  readonly pendingLogins: number
  /** Milliseconds since the epoch. */
  readonly lastLoginAt: number | undefined
  readonly lastRefusalAt: number | undefined
  readonly refusedConfig: RefusedConfig | undefined
  readonly now: number
}

/** A mount's state as responses show it. */
export function shownStatus({
  ready,
  pendingLogins,
  lastLoginAt,
  lastRefusalAt,
  refusedConfig,
  now,
}: MountStatus): object {
  const sources = (ready?.keyset.sources() ?? []).map((source) => shownSource(source, now))
  return {
    ok: sources.some(({ keys }) => keys > 0),
    type: typeOf(ready),
    sources,
    pending_logins: pendingLogins,
    last_login_at: timeOrNull(lastLoginAt),
    last_refusal_at: timeOrNull(lastRefusalAt),
    last_refused_config:
      refusedConfig === undefined ? null : { time: formatTime(refusedConfig.time), text: refusedConfig.text },
  }
}

/**
 * Why the keys of a configuration cannot be had, by what was fetched since it was written: nothing is fetched
 * for it. Undefined if nothing is known against it. docs/contract/jwt.md#configuration
 */
export function sourceProblem({ keyset, written, unchecked }: ReadyConfig): string | undefined {
  const sources = keyset.sources()
  if (sources.some(({ keys }) => keys.length > 0)) return undefined
  const histories = sources.flatMap((source) => source.histories)
  const failed = histories.find(
    ({ isReachable, lastError }) => isReachable === false && (lastError?.time ?? 0) >= written,
  )
  const isFetched = histories.some(({ fetchedAt = 0 }) => fetchedAt >= written)
  const problem = failed?.lastError?.text ?? (isFetched ? unusableKeys(sources, written) : unchecked)
  return problem === ''
    ? undefined
    : `failed to construct JWK validator: keyset configuration error: ${problem}`
}

/** Why sources without a usable key have none; empty if their keys have not been fetched. */
function unusableKeys(sources: readonly KeysetSource[], written: number): string {
  // the first fetch of a discovered provider is that of its document
  const fetches = sources.flatMap(({ kind, histories }) => histories.slice(kind === 'discovery' ? 1 : 0))
  if (!fetches.some(({ fetchedAt = 0 }) => fetchedAt >= written)) return ''
  return `no usable key: ${sources.flatMap(({ skipped }) => skipped)[0]?.problem ?? emptySet}`
}

/** docs/contract/jwt.md#configuration */
function typeOf(
  ready: ReadyConfig | undefined,
): 'none' | 'static' | 'jwks' | 'multi_jwks' | 'discovery' | 'oidc' {
  if (ready === undefined) return 'none'
  const { config } = ready
  if (hasOidcClient(config)) return 'oidc'
  if (config.oidc_discovery_url !== '') return 'discovery'
  if (config.jwt_validation_pubkeys.length > 0) return 'static'
  return config.jwks_url === '' ? 'multi_jwks' : 'jwks'
}

const maxSkippedShown = 32

type ShownSource = {
  readonly keys: number
  readonly [member: string]: JsonValue | number | boolean | readonly string[] | object | null
}

function shownSource({ kind, url, keys, skipped, histories }: KeysetSource, now: number): ShownSource {
  const last = <T>(values: readonly T[]): T | undefined => values.at(-1)
  const tried = histories.filter(({ isReachable }) => isReachable !== null)
  const fetchedAt = last(histories.flatMap(({ fetchedAt }) => fetchedAt ?? []))
  const offset = bestOffset(histories.flatMap((history) => history.offset ?? []))
  const error = last(
    histories.flatMap(({ lastError }) => lastError ?? []).toSorted((one, other) => one.time - other.time),
  )
  return {
    kind,
    url: redactUrl(url),
    reachable: tried.length === 0 ? null : tried.every(({ isReachable }) => isReachable === true),
    keys: keys.length,
    kids: shownList([...new Set(keys.flatMap(({ id }) => (id === '' ? [] : [id])))]),
    algorithms: algorithmsOfAll(keys),
    skipped_keys: skipped
      .slice(0, maxSkippedShown)
      .map(({ id, problem }) => ({ kid: shown(id), text: problem })),
    fetched_at: timeOrNull(fetchedAt),
    age_seconds: fetchedAt === undefined ? null : Math.max(0, Math.floor((now - fetchedAt) / 1000)),
    fetches: histories.reduce((sum, { fetches }) => sum + fetches, 0),
    clock_offset_seconds: offset?.seconds ?? null,
    clock_offset_estimated: offset?.isEstimate ?? false,
    last_error: error === undefined ? null : { time: formatTime(error.time), text: error.text },
  }
}

/** The declared algorithm of a key, or else all that it can verify. */
function algorithmsOfAll(keys: readonly UsableKey[]): string[] {
  const found = new Set<string>(keys.flatMap(algorithmsOfKey))
  return supportedAlgorithms.filter((name) => found.has(name))
}

const timeOrNull = (time: number | undefined): string | null => (time === undefined ? null : formatTime(time))
