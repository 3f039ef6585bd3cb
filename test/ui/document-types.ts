import { createHash } from 'node:crypto'
import { startTestServer } from '../support/start-server.ts'

/** The mount types that a new server has no mount of. */
const otherTypes = [
  ['sys/mounts/azure', 'azure'],
  ['sys/mounts/kv-1', 'kv'],
  ['sys/auth/userpass', 'userpass'],
  ['sys/auth/approle', 'approle'],
] as const

/** The part of the server's OpenAPI document that types are made from: no texts, no errors, no parameters. */
export async function typedDocument(): Promise<object> {
  await using server = await startTestServer()
  for (const [path, type] of otherTypes) await server.root.write(path, { type })
  const { body } = await server.root.read('sys/internal/specs/openapi?generic_mount_paths=true')
  const { openapi, info, paths, components } = body as unknown as Document
  const kept = Object.entries(paths).map(([path, item]) => [path, methodsOf(item)] as const)
  return {
    openapi,
    info: { title: String(info['title']), version: '' },
    paths: Object.fromEntries(kept),
    components: withoutTexts({ schemas: components['schemas'] }),
  }
}

type Item = Readonly<Record<string, unknown>>
type Document = {
  readonly openapi: string
  readonly info: Item
  readonly paths: Item
  readonly components: Item
}

const methods = new Set(['get', 'post', 'put', 'patch', 'delete'])

const methodsOf = (item: unknown): object =>
  Object.fromEntries(
    Object.entries(item as Record<string, Item>)
      .filter(([method]) => methods.has(method))
      .map(([method, { requestBody, responses }]) => [
        method,
        withoutTexts({ ...(requestBody !== undefined && { requestBody }), responses: successes(responses) }),
      ]),
  )

const successes = (responses: unknown): object =>
  Object.fromEntries(
    Object.entries(responses as Record<string, Item>)
      .filter(([status]) => status.startsWith('2'))
      .map(([status, { content }]) => [status, { ...(content !== undefined && { content }) }]),
  )

const texts = new Set(['description', 'summary', 'title', 'example', 'examples', 'default'])

/** Properties of schemas may have the names of these keywords. */
function withoutTexts(value: unknown, areProperties = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutTexts(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => areProperties || !texts.has(key))
      .map(([key, item]) => [key, withoutTexts(item, !areProperties && key === 'properties')]),
  )
}

/** What the generated file states of the document that it was made from. */
export const markOf = (document: object): string =>
  createHash('sha256').update(JSON.stringify(document)).digest('hex').slice(0, 32)
