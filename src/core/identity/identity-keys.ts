import type { Random } from '../../lib/random.ts'
import type { View } from '../barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../keyed-hash.ts'
import { namespaceIdOf } from '../namespaces/suffix.ts'
import { canonicalName } from './canonical-name.ts'

const idForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[0-9A-Za-z]{6})?$/

/** Can this be the id of an entity, a group or an alias? What is not of the form is never looked for. */
export const isIdentityId = (id: string): boolean => id.length <= 43 && idForm.test(id)

/** Where records of a namespace lie that entities are made of. */
export const identityPrefixes = ['entity/', 'entity-name/', 'entity-alias/', 'entity-alias-id/', 'entity-merged/'] as const

export const entityPrefix = (namespace: string): string => `entity/${namespace}/`
export const entityKey = (id: string): string => `${entityPrefix(namespaceIdOf(id))}${id}`
/** Alias id → entity id, of the aliases whose id does not lead to their entity. */
export const aliasIdPrefix = (namespace: string): string => `entity-alias-id/${namespace}/`
export const aliasIdKey = (id: string): string => `${aliasIdPrefix(namespaceIdOf(id))}${id}`
/** Id of an entity that was merged into another → id of that one. */
export const mergedKey = (id: string): string => `entity-merged/${namespaceIdOf(id)}/${id}`

/** Keys of records that names lead to. Names are people's: they are in the database only under a keyed hash of their canonical form. */
export class IdentityKeys {
  readonly #hash: KeyedHash

  private constructor(hash: KeyedHash) {
    this.#hash = hash
  }

  static async open(view: View, random: Random): Promise<IdentityKeys> {
    const { name } = await openKeyedHashes(view, random, 'identity-keys', ['name'])
    return new IdentityKeys(name)
  }

  /** Hash of a name's canonical form, for one kind of name in one namespace. */
  hashOf(kind: 'entity' | 'alias' | 'group' | 'group-alias', namespace: string, name: string): string {
    return this.#hash(`${kind}/${namespace}/${canonicalName(name)}`).toString('hex')
  }

  /** Entity name → entity id. */
  entityName(namespace: string, name: string): string {
    return `entity-name/${namespace}/${this.hashOf('entity', namespace, name)}`
  }

  /** Mount and alias name → entity id. */
  alias(namespace: string, mountAccessor: string, name: string): string {
    return `entity-alias/${namespace}/${mountAccessor}/${this.hashOf('alias', namespace, name)}`
  }
}
