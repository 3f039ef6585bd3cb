import { Buffer } from 'node:buffer'
import type { Random } from '../../lib/random.ts'
import type { View } from '../barrier/view.ts'
import { type KeyedHash, openKeyedHashes } from '../keyed-hash.ts'
import { namespaceIdOf } from '../namespaces/suffix.ts'
import { canonicalName } from './canonical-name.ts'
import { foldedName } from './same-name.ts'

const idForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[0-9A-Za-z]{6})?$/

/** Can this be the id of an entity, a group or an alias? What is not of the form is never looked for. */
export const isIdentityId = (id: string): boolean => id.length <= 43 && idForm.test(id)

/** Where records of a namespace lie that entities are made of. */
export const identityPrefixes = ['entity/', 'entity-name/', 'entity-alias/', 'entity-alias-id/', 'entity-alike/', 'entity-merged/'] as const

export const entityPrefix = (namespace: string): string => `entity/${namespace}/`
export const entityKey = (id: string): string => `${entityPrefix(namespaceIdOf(id))}${id}`
/** Alias id → entity id, of the aliases whose id does not lead to their entity. */
export const aliasIdPrefix = (namespace: string): string => `entity-alias-id/${namespace}/`
export const aliasIdKey = (id: string): string => `${aliasIdPrefix(namespaceIdOf(id))}${id}`
/** Id of an entity that was merged into another → id of that one. */
export const mergedKey = (id: string): string => `entity-merged/${namespaceIdOf(id)}/${id}`

export type NameKind = 'entity' | 'alias' | 'group' | 'group-alias'

/** Keys of records that names lead to. Names are people's: they are in the database only under a keyed hash of their folded form. */
export class IdentityKeys {
  readonly #hash: KeyedHash

  private constructor(hash: KeyedHash) {
    this.#hash = hash
  }

  static async open(view: View, random: Random): Promise<IdentityKeys> {
    const { name } = await openKeyedHashes(view, random, 'identity-keys', ['name'])
    return new IdentityKeys(name)
  }

  /** Hash by which a name is found, for one kind of name in one namespace: the same for names that are the same, and for no others. */
  hashOf(kind: NameKind, namespace: string, name: string): string {
    const folded = foldedName(name)
    if (folded.isWellFormed()) return this.#hash(`${kind}/${namespace}/${folded}`).toString('hex')
    // in UTF-8 all lone surrogates would be one character
    return this.#hash(`${kind}-utf16/${namespace}/${Buffer.from(folded, 'utf16le').toString('hex')}`).toString('hex')
  }

  /** The same hash for all names that look alike. */
  wideHashOf(kind: NameKind, namespace: string, name: string): string {
    return this.#hash(`${kind}/${namespace}/${canonicalName(name)}`).toString('hex')
  }

  /** Where the names of a mount lie that look like this one and are not in canonical form. */
  alikePrefix(namespace: string, mountAccessor: string, name: string): string {
    return `entity-alike/${namespace}/${mountAccessor}/${this.wideHashOf('alias', namespace, name)}/`
  }

  /** Alias name that is not in canonical form → entity id. */
  alike(namespace: string, mountAccessor: string, name: string): string {
    return this.alikePrefix(namespace, mountAccessor, name) + this.hashOf('alias', namespace, name)
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
