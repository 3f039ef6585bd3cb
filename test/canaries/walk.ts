import type { Answer, Client, Json } from '../support/client.ts'
import { canary } from './search.ts'

/** Where a canary was sent. */
export type Sent = {
  /** Verb and path as in the API document, and the field: `post /auth/jwt/login jwt`. */
  readonly what: string
  /** The document says that the field is only written. */
  readonly isSecret: boolean
}

/** Every canary that was sent, by its number. */
export class CanaryBook {
  readonly #sent: Sent[] = []

  /** A new canary for this place. */
  next(sent: Sent): string {
    this.#sent.push(sent)
    return canary(this.#sent.length - 1)
  }

  at(number: number): Sent {
    const sent = this.#sent[number]
    if (sent === undefined) throw new Error(`canary ${number} was never sent`)
    return sent
  }

  get size(): number {
    return this.#sent.length
  }
}

export type Operation = {
  readonly name: string
  readonly verb: string
  /** With a query if the response would not end without. */
  readonly path: string
  readonly fields: readonly Field[]
  /** All other operations refuse a caller without a token whatever the body is. */
  readonly needsNoToken: boolean
}
type Field = { readonly name: string; readonly isText: boolean; readonly isSecret: boolean }

/** The log without end, and the query with which it ends. */
const finite = (path: string) => (path === '/sys/monitor' ? `${path}?recent=true&log_level=trace` : path)

/** The operations of an API document. */
export function operationsOf(document: Json): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([verb]) => /^(?:get|post|patch|delete)$/.test(verb))
      .map(([verb, operation]) => ({
        name: `${verb} ${path}`,
        verb: verb.toUpperCase(),
        path: (item.servers === undefined ? '/v1' : '') + finite(path).replaceAll(/\{\w+\}/g, 'walked'),
        fields: fieldsOf(document, operation),
        needsNoToken: (item['x-vault-unauthenticated'] as unknown) === true,
      })),
  )
}

function fieldsOf(document: Json, operation: Json): Field[] {
  const contents = Object.values(operation['requestBody']?.['content'] ?? {})
  return contents.flatMap((content) => {
    const reference = String(content['schema']?.['$ref'] ?? '')
    const schema = document.components?.['schemas']?.[reference.split('/').at(-1) ?? ''] ?? content['schema']
    return Object.entries(schema?.['properties'] ?? {}).map(([name, field]) => ({
      name,
      isText:
        String(field['type']) === 'string' && field['enum'] === undefined && field['format'] === undefined,
      // a member of a schema
      isSecret: (field['writeOnly'] as unknown) === true,
    }))
  })
}

/** The ways in which a caller can be wrong about a body. */
type Say = (field: Field, how?: 'as a key') => string
type MakeBody = (fields: readonly Field[], say: Say) => object
const textFields: MakeBody = (fields, say) =>
  eachField(
    fields.filter(({ isText }) => isText),
    say,
  )
const eachField: MakeBody = (fields, say) =>
  Object.fromEntries(fields.map((field) => [field.name, say(field)]))
const bodies: readonly MakeBody[] = [
  textFields,
  eachField,
  (fields, say) => Object.fromEntries(fields.map((field) => [field.name, [say(field)]])),
  (fields, say) =>
    Object.fromEntries(fields.map((field) => [field.name, { [say(field, 'as a key')]: say(field) }])),
]

export type Callers = {
  readonly anonymous: Client
  /** A client whose token may do everything; it may have ended since. */
  root(): Promise<Client>
  as(token: string): Client
  /** The server is sealed, and refuses nearly all operations whatever the body is. */
  readonly areRefused?: boolean
}

/** Operations that a sealed server serves. */
export const nodeLevel = /\/sys\/(?:init|unseal|seal-status|health|leader|rekey|generate-root)/

/** Sends canaries to an operation in every way. Returns the responses. */
export async function walk(
  { name, verb, path, fields, needsNoToken }: Operation,
  { anonymous, root: findRoot, as, areRefused = false }: Callers,
  book: CanaryBook,
): Promise<Answer[]> {
  const found = await findRoot()
  const root = async () => (name.includes('revoke') ? findRoot() : found)
  const say: Say = (field, how) =>
    how === undefined
      ? book.next({ what: `${name} ${field.name}`, isSecret: field.isSecret })
      : book.next({ what: `${name} ${field.name} (${how})`, isSecret: false })
  const hidden = (what: string) => book.next({ what: `${name} (${what})`, isSecret: true })
  const merge: Record<string, string> =
    verb === 'PATCH' ? { 'Content-Type': 'application/merge-patch+json' } : {}
  const answers: Promise<Answer>[] = []
  // all at once, unless one of them ends the token of the next
  const send = async (
    client: Client,
    body: unknown,
    options: { headers?: Record<string, string>; raw?: string; query?: string } = {},
  ) => {
    const { raw, query = '', headers = {} } = options
    const answer = client.call(verb, path + query, body, {
      headers: { ...merge, ...headers },
      ...(raw === undefined ? {} : { raw }),
    })
    answers.push(answer)
    if (name.includes('revoke')) await answer
  }
  const wrapHeader = () => ({
    'X-Vault-Wrap-TTL': book.next({ what: `${name} (wrap header)`, isSecret: false }),
  })
  const query = () => `${path.includes('?') ? '&' : '?'}note=${hidden('query')}`
  const bearer = () => ({ Authorization: `Bearer ${hidden('bearer')}` })
  const broken = () => `{"note": "${hidden('broken JSON')}`
  if (areRefused && !nodeLevel.test(name)) {
    // before anything of it is read: two requests say all that could be wrong
    const body = verb === 'GET' ? undefined : { ...eachField(fields, say), note: hidden('unknown field') }
    await send(as(hidden('token')), body, { query: query(), headers: wrapHeader() })
    const raw = verb === 'GET' ? {} : { raw: broken() }
    await send(anonymous, undefined, { headers: bearer(), ...raw })
    return Promise.all(answers)
  }
  const areTexts = fields.every(({ isText }) => isText)
  for (const make of fields.length === 0 ? [] : bodies) {
    // then it is the next one
    if (areTexts && make === textFields) continue
    await send(await root(), make(fields, say))
    if (found !== anonymous && (needsNoToken || make === eachField)) await send(anonymous, make(fields, say))
  }
  await send(as(hidden('token')), undefined)
  await send(anonymous, undefined, { headers: bearer() })
  await send(await root(), undefined, { query: query() })
  await send(await root(), undefined, { headers: wrapHeader() })
  if (verb !== 'GET') {
    await send(await root(), undefined, { raw: broken() })
    await send(await root(), { note: hidden('unknown field') })
  }
  return Promise.all(answers)
}
