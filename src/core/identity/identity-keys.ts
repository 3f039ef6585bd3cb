import { Buffer } from 'node:buffer'
import type { Random } from '../../lib/system/random.ts'
import type { View } from '../barrier/view.ts'
import { namespaceIdOf } from '../namespaces/suffix.ts'
import { type KeyedHash, openKeyedHashes } from '../records/keyed-hash.ts'
import { canonicalName } from './canonical-name.ts'
import { foldedName } from './same-name.ts'

const idForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.[0-9A-Za-z]{6})?$/

/** Whether a text has the form of an entity, group or alias id. Other texts are never looked up. */
export const isIdentityId = (id: string): boolean => id.length <= 43 && idForm.test(id)

/** Key prefixes of all entity records. */
export const identityPrefixes = [
  'entity/',
  'entity-name/',
  'entity-alias/',
  'entity-alias-id/',
  'entity-alike/',
  'entity-merged/',
] as const

export const entitiesPrefix = 'entity/'
export const entityPrefix = (namespace: string): string => `${entitiesPrefix}${namespace}/`
export const entityKey = (id: string): string => `${entityPrefix(namespaceIdOf(id))}${id}`
/** Alias id → entity id, for aliases whose id is not derived from the entity's id. */
export const aliasIdPrefix = (namespace: string): string => `entity-alias-id/${namespace}/`
export const aliasIdKey = (id: string): string => `${aliasIdPrefix(namespaceIdOf(id))}${id}`
/** Id of a merged entity → id of the entity it was merged into. */
export const mergedKey = (id: string): string => `${mergedPrefix}${namespaceIdOf(id)}/${id}`
const mergedPrefix = 'entity-merged/'
/** The id at the end of an entity's key. */
export const idInKey = (key: string): string => key.slice(key.lastIndexOf('/') + 1)

export type NameKind = 'entity' | 'alias' | 'group' | 'group-alias'

/**
 * Keys of records found by name. Names are personal data, so keys contain only a keyed hash of their folded
 * form.
 */
export class IdentityKeys {
  readonly #hash: KeyedHash

  private constructor(hash: KeyedHash) {
    this.#hash = hash
  }

  static async open(view: View, random: Random): Promise<IdentityKeys> {
    const { name } = await openKeyedHashes(view, random, 'identity-keys', ['name'])
    return new IdentityKeys(name)
  }

  /** Hash of a name of one kind in one namespace; equal exactly for names with the same folded form. */
  hashOf(kind: NameKind, namespace: string, name: string): string {
    const folded = foldedName(name)
    if (folded.isWellFormed()) return this.#hash(`${kind}/${namespace}/${folded}`, 'hex')
    // UTF-8 would encode all lone surrogates as the same character
    return this.#hash(`${kind}-utf16/${namespace}/${Buffer.from(folded, 'utf16le').toString('hex')}`, 'hex')
  }

  /** Hash of a name that is equal for all names that look alike (canonical-name.ts). */
  wideHashOf(kind: NameKind, namespace: string, name: string): string {
    return this.#hash(`${kind}/${namespace}/${canonicalName(name)}`, 'hex')
  }

  /** Prefix of the rows of names at a mount that look like this one and are not in canonical form. */
  alikePrefix(namespace: string, mountAccessor: string, name: string): string {
    return `entity-alike/${namespace}/${mountAccessor}/${this.wideHashOf('alias', namespace, name)}/`
  }

  /** Alias name not in canonical form → entity id. */
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
