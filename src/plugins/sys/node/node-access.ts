import type { Core } from '../../../core/open/core.ts'
import { fail, refuse } from '../../../errors.ts'
import type { NodeExchange } from '../../../http/resource/node-resource.ts'
import { metricsPath } from './metrics.ts'

/** Throws unless the caller may read `sys/metrics`, by whichever path. docs/settings.md */
export async function checkMetricsReader(
  core: Pick<Core, 'access'> | undefined,
  exchange: NodeExchange,
): Promise<void> {
  const caller = await callerOf(core, exchange)
  if (!caller.acl.decide({ operation: 'read', path: metricsPath }).allowed)
    throw fail('denied', 'permission denied')
}

/**
 * Throws unless the caller has `update` and `sudo` on the path.
 * docs/contract/tokens-and-policies.md#protected-paths
 */
export async function checkSudo(
  core: Pick<Core, 'access'> | undefined,
  exchange: NodeExchange,
): Promise<void> {
  const caller = await callerOf(core, exchange)
  const verdict = caller.acl.decide({ operation: 'update', path: exchange.call.path })
  if (!verdict.allowed || !verdict.sudo) throw fail('denied', 'permission denied')
}

async function callerOf(core: Pick<Core, 'access'> | undefined, { call, presented }: NodeExchange) {
  call.caller = await unsealed(core).access.authenticate(presented(), call.remoteAddress)
  return call.caller
}

/** Throws `sealed` without an open core. */
export function unsealed<Opened extends object>(core: Opened | undefined): Opened {
  if (core === undefined) throw refuse('sealed', 'Vault is sealed')
  return core
}
