import { hash } from 'node:crypto'
import type { Token } from './token.ts'

/**
 * Which client a request counts for: the entity of the token, or a digest of the policies and the namespace
 * of one without an entity.
 */
export function clientIdOf({
  entity_id,
  policies,
  namespace,
}: Pick<Token, 'entity_id' | 'policies' | 'namespace'>): string {
  if (entity_id !== '') return entity_id
  const text = `${[...policies]
    .sort()
    .map((name) => `${name}\x1f`)
    .join('')}\x1e${namespace}`
  return hash('sha256', text, 'base64')
}
