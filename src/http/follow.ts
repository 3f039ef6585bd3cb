import { namespaceIdOf } from '../core/namespaces/suffix.ts'
import type { JsonValue } from '../lib/json.ts'

/**
 * The id of the namespace a call is served in, by what it brings; undefined: the one it was sent to.
 * `presented` is its token id, empty for none.
 */
export type Follows = (sent: Readonly<Record<string, JsonValue>>, presented: string) => string | undefined

/** Into the namespace of the calling token. docs/contract/namespaces.md#calls-that-follow-an-id */
export const followsCaller: Follows = (_sent, presented) => namespaceIdOf(presented)

/**
 * Into the namespace of the id in this field, as far as the id names one.
 * docs/contract/namespaces.md#calls-that-follow-an-id
 */
export const followsField =
  (name: string): Follows =>
  ({ [name]: id }) => {
    const namespace = typeof id === 'string' ? namespaceIdOf(id) : 'root'
    return namespace === 'root' ? undefined : namespace
  }

/** As `followsField`; without such a field into the namespace of the calling token. */
export const followsFieldOrCaller =
  (name: string): Follows =>
  (sent, presented) =>
    sent[name] === undefined ? followsCaller(sent, presented) : followsField(name)(sent, presented)
