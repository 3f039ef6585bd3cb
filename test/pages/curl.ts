import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ask } from './ask.ts'
import type { StandIn } from './stand-ins.ts'

/** The part of curl that our pages use, for machines without it. */
export const curl: StandIn = {
  reads: 'case " $* " in *" @- "*) true ;; *) false ;; esac',
  perform: async ({ args, folder, environment, stdin, journal }) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        silent: { type: 'boolean', short: 's' },
        include: { type: 'boolean', short: 'i' },
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
      text.startsWith('@')
        ? (text === '@-' ? stdin : readFileSync(resolve(folder, text.slice(1)), 'utf8')).replaceAll('\n', '')
        : text

    const encoded = values['data-urlencode'].map((pair) => pair.replace(/(?<==).*/s, encodeURIComponent))
    const data = [...values.data.map(contentOf), ...encoded].join('&')
    if (values.get === true) url.search = data
    const sendsData = data !== '' && values.get !== true
    const method = values.request ?? (sendsData ? 'POST' : 'GET')
    const { status, headers, body } = await ask(url, {
      method,
      headers: {
        ...(sendsData && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...Object.fromEntries(values.header.map(field)),
      },
      body: sendsData ? data : '',
      authority:
        values.cacert === undefined ? environment['NODE_EXTRA_CA_CERTS'] : resolve(folder, values.cacert),
    })
    journal(`${status} ${method} ${url.pathname}${url.search}`)
    if (values.fail === true && status >= 400) return { output: '', code: 22 }
    if (values.include !== true) return { output: body }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    return { output: `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}` }
  },
}

function field(line: string): [name: string, value: string] {
  const [name = '', value = ''] = line.split(/:\s*(.*)/s)
  return [name.toLowerCase(), value]
}
