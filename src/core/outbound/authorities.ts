import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { Cache } from '../../lib/data/cache.ts'

type Made = { readonly system: readonly string[]; readonly contexts: readonly SecureContext[] }

/** Those of a cloud, and of the one before: few texts are in use at once. */
const made = new Cache<Made>({ name: 'trusted authorities', most: 4 })

/**
 * For each choice, a context that trusts its authorities in addition to the system's. To read all of those takes
 * longer than a request, so whoever trusts the same authorities shares the contexts.
 */
export function contextsOf(choices: readonly (readonly string[])[]): readonly SecureContext[] {
  const system = getCACertificates('default')
  const key = JSON.stringify(choices)
  const known = made.get(key)
  if (known?.system === system) return known.contexts
  const contexts = choices.map((chosen) => createSecureContext({ ca: [...system, ...chosen] }))
  made.set(key, { system, contexts })
  return contexts
}
