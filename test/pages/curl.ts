import { once } from 'node:events'
import { appendFileSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { type PlainAnswer, requestPlainly } from './plain-request.ts'

/**
 * The part of curl that our pages use, for machines without it. Each request and its status are written to
 * the file `CURL_JOURNAL`, one per line.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: 'boolean', short: 's' },
    fail: { type: 'boolean', short: 'f' },
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
const answer =
  url.protocol === 'https:'
    ? await askSecurely(url)
    : await requestPlainly(url, { method, headers, body: sendsData ? data : '' })
appendFileSync(
  process.env['CURL_JOURNAL'] ?? '/dev/null',
  `${answer.status} ${method} ${url.pathname}${url.search}\n`,
)
if (values.fail === true && answer.status >= 400) process.exitCode = 22
else process.stdout.write(answer.body)

async function askSecurely(to: URL): Promise<PlainAnswer> {
  const { request } = await import('node:https')
  const ca = values.cacert === undefined ? {} : { ca: readFileSync(values.cacert) }
  const sent = request(to, { method, headers, ...ca }).end(sendsData ? data : undefined)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode ?? 0, body: await buffer(answer) }
}
