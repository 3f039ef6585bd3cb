import type { Schema } from './openapi-schema.ts'

type Told = { readonly description: string; readonly example: string | number }

/** Descriptions of path parameters. */
const captures: Readonly<Record<string, Told>> = {
  client_id: {
    description: 'Client id of an application in the cloud',
    example: '5f2d9c1e-1d0b-4b7e-8f7a-2a3d1c9e7b10',
  },
  header: { description: 'Name of a request header', example: 'X-Request-Source' },
  id: { description: 'Id of the object', example: 'c1f5bd07-3c0a-4b52-8e5e-7b3b0f6b1f7d' },
  migration_id: {
    description: 'Id of the move, from the response that queued it',
    example: '8a1d4b36-6f52-4b0e-9d5c-3c7e2f1a0b98',
  },
  mount_accessor: { description: 'Accessor of a login method', example: 'auth_userpass_2fb84b58' },
  name: { description: 'Name of the object', example: 'deploy' },
  path: { description: 'The rest of the path, including slashes', example: 'team/shop' },
  role_name: { description: 'Name of the role', example: 'deploy' },
  source: {
    description: 'Source of the bytes: `platform`, `seal` or `all`, which are the same here',
    example: 'platform',
  },
  urlalgorithm: { description: 'Digest algorithm', example: 'sha2-256' },
  urlbytes: { description: 'Number of bytes', example: '32' },
  username: { description: 'Name of the user', example: 'alice' },
}

/** Descriptions of parameters that mean something else in some paths. */
const capturesOf: Readonly<Record<string, Readonly<Record<string, Told>>>> = {
  '/loggers/:name': { name: { description: 'Name of the logger', example: 'core' } },
  '/namespaces/:path': { path: { description: 'Name of the namespace', example: 'team' } },
}

/** The description of a parameter of a path. */
export const captureOf = (url: string, name: string): Told | undefined =>
  capturesOf[url]?.[name] ?? captures[name]

type Fields = Readonly<Record<string, Schema>>
type Schemas = Record<string, object>

const fieldsOf = (schema: object | undefined): Fields =>
  schema !== undefined && 'properties' in schema ? (schema.properties as Fields) : {}

const typeOf = (value: unknown): string =>
  Array.isArray(value)
    ? 'array'
    : Number.isInteger(value)
      ? 'integer'
      : value === null
        ? 'null'
        : typeof value

const saysSomething = (value: unknown): boolean =>
  value !== '' &&
  value !== 0 &&
  (typeof value !== 'object' || (value !== null && Object.keys(value).length > 0))

/**
 * Lets the fields of one mount type explain each other: an input field gets its example from a response field
 * of the same name, and a response field gets the description of the input field. `samples` are the example
 * responses.
 */
export function explainFields(schemas: Schemas, group: string, samples: readonly object[]): void {
  const named = (kind: string) =>
    Object.keys(schemas).filter((name) => name.startsWith(`${group}-`) && name.endsWith(`-${kind}`))
  const values = new Map(
    samples.flatMap((sample) => Object.entries(sample).filter(([, value]) => saysSomething(value))),
  )
  const descriptions = new Map<string, unknown>()
  for (const name of named('input')) {
    for (const [field, { description }] of Object.entries(fieldsOf(schemas[name])))
      if (description !== undefined) descriptions.set(field, description)
    rewrite(schemas, name, (field, schema) =>
      schema['examples'] === undefined && typeOf(values.get(field)) === schema['type']
        ? { ...schema, examples: [values.get(field)] }
        : schema,
    )
  }
  for (const name of named('data')) {
    rewrite(schemas, name, (field, schema) =>
      schema['description'] === undefined && descriptions.has(field)
        ? { ...schema, description: descriptions.get(field) }
        : schema,
    )
  }
}

function rewrite(schemas: Schemas, name: string, change: (field: string, schema: Schema) => Schema): void {
  const schema = schemas[name]
  if (schema === undefined || !('properties' in schema)) return
  const properties = Object.fromEntries(
    Object.entries(fieldsOf(schema)).map(([field, inner]) => [field, change(field, inner)]),
  )
  schemas[name] = { ...schema, properties }
}
