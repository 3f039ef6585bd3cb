import { appendFileSync, readFileSync } from 'node:fs'
import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
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

const send = url.protocol === 'https:' ? requestSecure : requestPlain
const sent = send(url, {
  method: values.request ?? (sendsData ? 'POST' : 'GET'),
  headers: {
    ...(sendsData && { 'content-type': 'application/x-www-form-urlencoded' }),
    ...Object.fromEntries(values.header.map((line) => line.split(/:\s*(.*)/s).slice(0, 2))),
  },
  ...(values.cacert !== undefined && { ca: readFileSync(values.cacert) }),
})
sent.on('response', (answer) => {
  appendFileSync(
    process.env['CURL_JOURNAL'] ?? '/dev/null',
    `${answer.statusCode} ${sent.method} ${url.pathname}${url.search}\n`,
  )
  answer.pipe(process.stdout)
})
sent.end(sendsData ? data : undefined)
