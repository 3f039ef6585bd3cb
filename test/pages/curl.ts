import { once } from 'node:events'
import { appendFileSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { parseArgs } from 'node:util'

/**
 * The part of curl that our pages use, for machines without it. Each request and its status are written to
 * the file `CURL_JOURNAL`, one per line.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: 'boolean', short: 's' },
    get: { type: 'boolean', short: 'G' },
    request: { type: 'string', short: 'X' },
    header: { type: 'string', short: 'H', multiple: true, default: [] },
    data: { type: 'string', short: 'd', multiple: true, default: [] },
    'data-urlencode': { type: 'string', multiple: true, default: [] },
    cacert: { type: 'string' },
  },
})
const [address, ...others] = positionals
const url = URL.parse(address ?? '')
if (url === null || others.length > 0) throw new Error(`not one address: ${positionals.join(' ')}`)

/** The content that `@FILE` stands for, or standard input for `@-`. */
const contentOf = (text: string): string =>
  text.startsWith('@') ? readFileSync(text === '@-' ? 0 : text.slice(1), 'utf8').replaceAll('\n', '') : text

const encoded = values['data-urlencode'].map((pair) => pair.replace(/(?<==).*/s, encodeURIComponent))
const data = [...values.data.map(contentOf), ...encoded].join('&')
if (values.get === true) url.search = data
const sendsData = data !== '' && values.get !== true

const field = (line: string) => {
  const [name = '', value = ''] = line.split(/:\s*(.*)/s)
  return [name.toLowerCase(), value]
}
const method = values.request ?? (sendsData ? 'POST' : 'GET')
const headers: Record<string, string> = {
  ...(sendsData && { 'content-type': 'application/x-www-form-urlencoded' }),
  ...Object.fromEntries(values.header.map(field)),
}
const answer = url.protocol === 'https:' ? await askSecurely(url) : await ask(url)
appendFileSync(
  process.env['CURL_JOURNAL'] ?? '/dev/null',
  `${answer.status} ${method} ${url.pathname}${url.search}\n`,
)
process.stdout.write(answer.body)

type Answer = { readonly status: number; readonly body: Buffer }

/** Without `node:http`, which takes longer to load than all else here. HTTP/1.0 has no chunks. */
async function ask({ hostname, host, port, pathname, search }: URL): Promise<Answer> {
  const body = Buffer.from(sendsData ? data : '')
  const fields = { ...headers, host, 'content-length': body.length }
  const head = [
    `${method} ${pathname}${search} HTTP/1.0`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
  ]
  const socket = connect(Number(port || 80), hostname)
  socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]))
  const answer = await buffer(socket)
  const headEnd = answer.indexOf('\r\n\r\n')
  if (headEnd === -1) throw new Error('no answer')
  return { status: Number(answer.toString('latin1', 9, 12)), body: answer.subarray(headEnd + 4) }
}

async function askSecurely(to: URL): Promise<Answer> {
  const { request } = await import('node:https')
  const ca = values.cacert === undefined ? {} : { ca: readFileSync(values.cacert) }
  const sent = request(to, { method, headers, ...ca }).end(sendsData ? data : undefined)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode ?? 0, body: await buffer(answer) }
}
