import { textArray } from './array-parameter.ts'
import type { Row } from './session.ts'

/** What one commit wrote: its keys, or a prefix of them. */
export type Written = { readonly keys: readonly string[] } | { readonly prefix: string }

/** More keys are reported as their common prefix. */
const maxKeys = 100

export const changedParameters = (keys: readonly string[]): [Buffer | null, string | null] =>
  keys.length <= maxKeys ? [textArray(keys), null] : [null, commonPrefix(keys)]

function commonPrefix(keys: readonly string[]): string {
  let prefix = keys[0] ?? ''
  for (const key of keys) {
    let length = 0
    while (length < prefix.length && prefix[length] === key[length]) length += 1
    prefix = prefix.slice(0, length)
  }
  // not half of a character
  return prefix.isWellFormed() ? prefix : prefix.slice(0, -1)
}

/** A row of `changes`, as `readChanges` returns it. */
export type ChangeRow = { readonly version: number; readonly commitId: string; readonly written: Written }

export function changeOf([, version, commitId, keys, prefix]: Row): ChangeRow | undefined {
  if (version === null || version === undefined) return undefined
  const written = prefix === null ? { keys: parseTextArray(String(keys)) } : { prefix: String(prefix) }
  return { version: Number(version), commitId: String(commitId), written }
}

/** PostgreSQL's text form of an array: `{a,"b c",d}`. */
function parseTextArray(text: string): string[] {
  return [...text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/gs)].map(([, quoted, plain = '']) =>
    quoted === undefined ? plain : quoted.replace(/\\(.)/gs, '$1'),
  )
}

/** The keys of `written` that a listener for `prefix` hears of; undefined: any. An empty list: none. */
export function keysUnder(prefix: string, written: Written): readonly string[] | undefined {
  if ('keys' in written) return written.keys.filter((key) => key.startsWith(prefix))
  return written.prefix.startsWith(prefix) || prefix.startsWith(written.prefix) ? undefined : []
}
