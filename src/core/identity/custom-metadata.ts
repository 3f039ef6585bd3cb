import { quoted } from '../../lib/text/go-text.ts'

const maxPairs = 64
const maxKeyBytes = 128
const maxValueBytes = 512
/** Any character that is neither visible nor a space. */
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u

/** All validation errors of custom metadata, ordered by key. docs/contract/identity.md#aliases */
export function customMetadataFaults(metadata: Readonly<Record<string, string>>): string[] {
  const pairs = Object.entries(metadata)
  if (pairs.length > maxPairs)
    return [`payload must contain at most ${maxPairs} keys, provided ${pairs.length}`]
  return pairs.flatMap(([key, value]) => pairFaults(key, value))
}

function pairFaults(key: string, value: string): string[] {
  const faults: string[] = []
  const keyBytes = Buffer.byteLength(key)
  const valueBytes = Buffer.byteLength(value)
  if (keyBytes === 0 || keyBytes > maxKeyBytes)
    faults.push(`length of key ${quoted(key)} is ${keyBytes} but must be 0 < len(key) <= ${maxKeyBytes}`)
  if (valueBytes === 0 || valueBytes > maxValueBytes) {
    faults.push(
      `length of value for key ${quoted(key)} is ${valueBytes} but must be 0 < len(value) <= ${maxValueBytes}`,
    )
  }
  if (unprintable.test(key))
    faults.push(`key ${quoted(key)} (${key.slice(0, maxKeyBytes)}) contains unprintable characters`)
  if (unprintable.test(value)) faults.push(`value for key ${quoted(key)} contains unprintable characters`)
  return faults
}
