import { KnownValues, recalled } from '../../../jwt/history/hashed-claims.ts'
import {
  type JudgedNow,
  judgedBy,
  judgedNowBy,
  notJudged,
  passed,
  unknown,
  type Verdict,
} from '../../../jwt/history/judged.ts'
import type { JwtFailures } from '../../../jwt/history/sent-token.ts'
import type { ExplainedCheck } from '../../../logins/explain/explained.ts'
import { byKeys, type ReadyConfig } from '../config/config.ts'
import { type Role, readRole } from '../config/role.ts'
import { judge } from './judge.ts'
import { valuesNamedBy, type WhatIfContext } from './what-if.ts'

type KeptFailure = NonNullable<ReturnType<JwtFailures['find']>>

/**
 * How a refused login would go with a role, and the configuration, as they are now. The token is not kept, so the cluster
 * cannot be asked about it.
 */
export async function judgedNow(
  { failure, kept, trace: { checks } }: KeptFailure,
  role: Role,
  { mount, ready, history }: Pick<WhatIfContext, 'mount' | 'ready' | 'history'>,
): Promise<JudgedNow> {
  if (kept === undefined) return notJudged
  const known = new KnownValues(await history.hash())
  known.add([...valuesNamedBy(role), ...checks.flatMap(({ seen }) => [seen].flat())])
  const login = {
    path: 'login',
    asToken: false,
    byDefault: false,
    address: failure.remote_address,
    algorithm: '',
    keyId: '',
    matched: {},
  } as const
  const now = { role, ready, tokenType: mount.config.token_type }
  const { made } = judge({ login, recalled: recalled(kept, known) }, now, { ...now, role: readRole('', {}) })
  return judgedNowBy(judgedBy([...made, ofVoucher(checks, ready)]))
}

/** A key that verified the token still does; the cluster says anew what it thinks of each token. */
function ofVoucher(checks: readonly ExplainedCheck[], ready: ReadyConfig | undefined): Verdict {
  if (ready === undefined || !byKeys(ready)) return unknown('review')
  const isVerified = checks.some(({ name, verdict }) => name === 'signature' && verdict === 'pass')
  return isVerified ? passed('signature') : unknown('signature')
}
