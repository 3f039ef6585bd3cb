import { appendFileSync, readFileSync } from 'node:fs'
import { requestPlainly } from './plain-request.ts'

/**
 * The part of the clients `vault` and `bao` that our pages use, for machines without them: `read`, `write`,
 * `list` and `delete`, with `-field` and `-f`. Each request and its status are written to the file
 * `CURL_JOURNAL`, one per line.
 */
const verbs: Readonly<Record<string, string>> = { read: 'GET', write: 'PUT', list: 'LIST', delete: 'DELETE' }

const [verb = '', ...words] = process.argv.slice(2)
const flags = words.filter((word) => word.startsWith('-'))
const [path = '', ...pairs] = words.filter((word) => !word.startsWith('-'))
const field = flags.find((flag) => flag.startsWith('-field='))?.slice('-field='.length)
const unknown = flags.filter((flag) => flag !== '-f' && !flag.startsWith('-field='))
const method = verbs[verb]
if (method === undefined || path === '' || unknown.length > 0)
  throw new Error(`not a command of these pages: ${process.argv.slice(2).join(' ')}`)
if (verb === 'write' && pairs.length === 0 && !flags.includes('-f'))
  throw new Error('Must supply data or use -force')

/** `-` is standard input, and `@FILE` the content of a file. */
const textOf = (text: string): string =>
  text === '-' ? readFileSync(0, 'utf8') : text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text

const sent = Object.fromEntries(
  pairs.map((pair) => {
    const at = pair.indexOf('=')
    if (at === -1) throw new Error(`not a pair: ${pair}`)
    return [pair.slice(0, at), textOf(pair.slice(at + 1))]
  }),
)
const url = new URL(`/v1/${path}`, process.env['VAULT_ADDR'])
const { status, body } = await requestPlainly(url, {
  method,
  headers: { 'X-Vault-Token': process.env['VAULT_TOKEN'] ?? '', 'X-Vault-Request': 'true' },
  body: verb === 'write' ? JSON.stringify(sent) : '',
})
appendFileSync(process.env['CURL_JOURNAL'] ?? '/dev/null', `${status} ${method} ${url.pathname}\n`)
const answer = body.length === 0 ? {} : JSON.parse(String(body))
if (status >= 300) {
  console.error(`Code: ${status}. Errors:\n\n${(answer.errors ?? []).map((each: string) => `* ${each}`)}`)
  process.exitCode = 2
} else if (field !== undefined) {
  const value = answer.data?.[field]
  if (value === undefined) throw new Error(`Field "${field}" not present in secret`)
  console.log(typeof value === 'string' ? value : JSON.stringify(value))
} else console.log(JSON.stringify(answer.data ?? {}))
