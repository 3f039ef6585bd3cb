import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type PlainAnswer = { readonly status: number; readonly body: Buffer }

/**
 * A request over plain HTTP, without `node:http`, which takes longer to load than all else that our programs
 * do. HTTP/1.0 has no chunks.
 */
export async function requestPlainly(
  { hostname, host, port, pathname, search }: URL,
  {
    method,
    headers,
    body,
  }: { readonly method: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
): Promise<PlainAnswer> {
  const sent = Buffer.from(body)
  const fields = { ...headers, host, 'content-length': sent.length }
  const head = [
    `${method} ${pathname}${search} HTTP/1.0`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
  ]
  const socket = connect(Number(port || 80), hostname)
  socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), sent]))
  const answer = await buffer(socket)
  const headEnd = answer.indexOf('\r\n\r\n')
  if (headEnd === -1) throw new Error('no answer')
  return { status: Number(answer.toString('latin1', 9, 12)), body: answer.subarray(headEnd + 4) }
}
