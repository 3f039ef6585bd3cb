import { namespaceIdOf } from '../../core/namespaces/suffix.ts'
import type { JsonValue } from '../../lib/text/json.ts'

/**
 * The id of the namespace in which a call is served, by an id it carries; undefined: the one it was sent to.
 * `presented` is its token id, empty for none.
 */
export type Follows = (sent: Readonly<Record<string, JsonValue>>, presented: string) => string | undefined

/** Follows the calling token into its namespace. docs/contract/namespaces.md#calls-that-follow-an-id */
export const followsCaller: Follows = (_sent, presented) => namespaceIdOf(presented)

/**
 * Follows the id in this field into its namespace, if the id names one.
 * docs/contract/namespaces.md#calls-that-follow-an-id
 */
export const followsField =
  (name: string): Follows =>
  ({ [name]: id }) => {
    const namespace = typeof id === 'string' ? namespaceIdOf(id) : 'root'
    return namespace === 'root' ? undefined : namespace
  }

/** Like `followsField`; without such a field, follows the calling token. */
export const followsFieldOrCaller =
  (name: string): Follows =>
  (sent, presented) =>
    sent[name] === undefined ? followsCaller(sent, presented) : followsField(name)(sent, presented)
