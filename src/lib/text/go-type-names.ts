import { isJsonNumber, type JsonValue } from './json.ts'

export function goTypeName(value: unknown): string {
  if (isJsonNumber(value) || typeof value === 'number') return 'json.Number'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
}

/** What Go's `encoding/json` calls a JSON value (https://pkg.go.dev/encoding/json#UnmarshalTypeError). */
export function jsonTypeName(value: JsonValue): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  return isJsonNumber(value) ? 'number' : typeof value
}
