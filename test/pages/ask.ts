import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, type IncomingMessage, request as plainly } from 'node:http'
import { request as securely } from 'node:https'
import { buffer } from 'node:stream/consumers'

type Asked = {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  /** The file of an authority to trust; empty for none. */
  readonly authority?: string | undefined
}

/** A request on a connection of its own, as that of a program. */
export async function ask(
  url: URL,
  { method, headers = {}, body, authority = '' }: Asked,
): Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }> {
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const options = { method, headers: { ...length, ...headers }, agent: false } as const
  const sent =
    url.protocol === 'https:'
      ? securely(url, { ...options, ...(authority !== '' && { ca: readFileSync(authority) }) })
      : plainly(url, options)
  const [answer] = (await once(sent.end(body), 'response')) as [IncomingMessage]
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await buffer(answer) }
}
