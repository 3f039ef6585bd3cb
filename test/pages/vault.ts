import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ask } from './ask.ts'
import type { StandIn } from './stand-ins.ts'

const verbs: Readonly<Record<string, string>> = { read: 'GET', write: 'PUT', list: 'LIST', delete: 'DELETE' }

/**
 * The part of the clients `vault` and `bao` that our pages use, for machines without them: `read`, `write`,
 * `list` and `delete`, with `-field` and `-f`.
 */
export const vault: StandIn = {
  reads: 'case " $* " in *"=- "*) true ;; *) false ;; esac',
  perform: async ({ args, folder, environment, stdin, journal }) => {
    const [verb = '', ...words] = args
    const flags = words.filter((word) => word.startsWith('-'))
    const [path = '', ...pairs] = words.filter((word) => !word.startsWith('-'))
    const member = flags.find((flag) => flag.startsWith('-field='))?.slice('-field='.length)
    const unknown = flags.filter((flag) => flag !== '-f' && !flag.startsWith('-field='))
    const method = verbs[verb]
    if (method === undefined || path === '' || unknown.length > 0)
      throw new Error(`not a command of these pages: ${args.join(' ')}`)
    if (verb === 'write' && pairs.length === 0 && !flags.includes('-f'))
      throw new Error('Must supply data or use -force')

    /** `-` is standard input, and `@FILE` the content of a file. */
    const textOf = (text: string): string => {
      if (text === '-') return stdin
      return text.startsWith('@') ? readFileSync(resolve(folder, text.slice(1)), 'utf8') : text
    }

    const sent = Object.fromEntries(
      pairs.map((pair) => {
        const at = pair.indexOf('=')
        if (at === -1) throw new Error(`not a pair: ${pair}`)
        return [pair.slice(0, at), textOf(pair.slice(at + 1))]
      }),
    )
    const url = new URL(`/v1/${path}`, environment['VAULT_ADDR'])
    if (verb === 'read') url.search = String(new URLSearchParams(sent))
    const { status, body } = await ask(url, {
      method,
      headers: { 'X-Vault-Token': environment['VAULT_TOKEN'] ?? '', 'X-Vault-Request': 'true' },
      body: verb === 'write' ? JSON.stringify(sent) : '',
      authority: environment['NODE_EXTRA_CA_CERTS'],
    })
    journal(`${status} ${method} ${url.pathname}`)
    const answer = body.length === 0 ? {} : JSON.parse(String(body))
    if (status >= 300) {
      const errors = (answer.errors ?? []).map((each: string) => `* ${each}`)
      return { output: '', code: 2, error: `Code: ${status}. Errors:\n\n${errors}\n` }
    }
    if (member === undefined) return { output: `${JSON.stringify(answer.data ?? {})}\n` }
    const value = answer.data?.[member]
    if (value === undefined) throw new Error(`Field "${member}" not present in secret`)
    return { output: `${typeof value === 'string' ? value : JSON.stringify(value)}\n` }
  },
}
